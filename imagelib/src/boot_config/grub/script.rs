//! From words to commands, and the menu entries that they stand in.

use super::lexer::{Lexer, ScriptWord, Token};

/// Which menu entry a command stands in: its index among the menu entries in order.
pub(super) type MenuIndex = Option<usize>;

/// What happens in a script, in order.
pub(super) enum Event {
    /// `menuentry` with its words; ends at the offset. `certain` as for a command, and it is in no submenu.
    Menu { header: Vec<ScriptWord>, end: usize, certain: bool },
    /// `submenu`.
    Submenu,
    /// Any other command. `certain`: no condition, loop or function decides whether it runs.
    Command { words: Vec<ScriptWord>, menu: MenuIndex, certain: bool },
}

enum Block {
    Menu(usize),
    Submenu,
    Function,
    Other,
}

#[derive(Default)]
struct Builder {
    events: Vec<Event>,
    /// Where in `events` the menu entries are.
    menus: Vec<usize>,
    blocks: Vec<Block>,
    /// How many `if` and loops are open.
    conditions: usize,
    words: Vec<ScriptWord>,
}

pub(super) fn events(text: &[u8]) -> Vec<Event> {
    let mut builder = Builder::default();
    for token in Lexer::new(text) {
        match token {
            Token::Word(word) => builder.words.push(word),
            Token::End => builder.end_command(),
            Token::Open => builder.open(),
            Token::Close(at) => builder.close(at),
        }
    }
    builder.end_command();
    builder.events
}

impl Builder {
    /// Takes the command that ends here, without the keywords before it.
    fn command(&mut self) -> Vec<ScriptWord> {
        let words = std::mem::take(&mut self.words);
        let mut keywords = 0;
        for word in words.iter().take_while(|word| word.plain) {
            match word.value.as_str() {
                "if" | "while" | "until" => self.conditions += 1,
                "fi" | "done" => self.conditions = self.conditions.saturating_sub(1),
                "for" => {
                    self.conditions += 1;
                    break;
                }
                "elif" | "then" | "else" | "do" | "!" | "time" => {}
                _ => break,
            }
            keywords += 1;
        }
        words.into_iter().skip(keywords).collect()
    }

    /// What lies outside any menu entry runs before the menu is shown; a submenu is a script of its own.
    fn menu(&self) -> MenuIndex {
        self.blocks.iter().rev().find_map(|block| match block {
            Block::Menu(index) => Some(Some(*index)),
            Block::Submenu => Some(None),
            Block::Function | Block::Other => None,
        })?
    }

    fn end_command(&mut self) {
        let words = self.command();
        if !words.is_empty() {
            let (menu, certain) = (self.menu(), self.is_certain());
            self.events.push(Event::Command { words, menu, certain });
        }
    }

    /// Whether no condition, loop or function decides about what comes now.
    fn is_certain(&self) -> bool {
        self.conditions == 0 && !self.blocks.iter().any(|block| matches!(block, Block::Function))
    }

    fn open(&mut self) {
        let header = self.command();
        let block = match header.first().map(|word| word.value.as_str()) {
            Some("menuentry") => {
                let end = header.last().map_or(0, |last| last.span.end);
                self.menus.push(self.events.len());
                let certain = self.is_certain();
                self.events.push(Event::Menu { header, end, certain });
                Block::Menu(self.menus.len() - 1)
            }
            Some("submenu") => {
                self.events.push(Event::Submenu);
                Block::Submenu
            }
            Some("function") => Block::Function,
            _ => Block::Other,
        };
        self.blocks.push(block);
    }

    fn close(&mut self, at: usize) {
        self.end_command();
        if let Some(Block::Menu(index)) = self.blocks.pop()
            && let Some(Event::Menu { end, .. }) = self.menus.get(index).and_then(|event| self.events.get_mut(*event))
        {
            *end = at;
        }
    }
}
