//! The documentation: its commands work, its links lead somewhere, and the book is built from it.

mod book;
mod contributors;
mod install;
mod links;
mod pages;
