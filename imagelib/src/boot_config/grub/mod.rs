//! GRUB 2's `grub.cfg`, a script: chapters "Shell-like scripting" and "Commands" of its manual, and for what the manual
//! leaves open `grub-core/script/yylex.l` and `parser.y`.

mod argument;
mod device;
mod lexer;
mod menu;
mod script;
mod variables;

pub(super) use argument::{understood, written};
pub(super) use menu::parse;
pub(super) use variables::Variables;
