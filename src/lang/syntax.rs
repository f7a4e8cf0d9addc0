//! Text to tree. pest lives and dies in here: neither its pairs nor its rules nor its errors leave.

pub mod ast;
