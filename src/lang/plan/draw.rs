//! A graph as a person or a program reads it: text, JSON, Mermaid, SVG. Nothing is worked out here.

pub mod against;
pub mod json;
pub mod mermaid;
pub mod svg;
pub mod text;
