//! The machine, run over hand-made and generated typed programs and scripted answers.

mod basics;
mod build;
mod builtins;
mod generate;
mod paths;
mod properties;
mod reference;
mod seed;
mod shapes;
mod world;
mod writes;
