//! The binary `dayone`: arguments and nothing else.

fn main() {}
