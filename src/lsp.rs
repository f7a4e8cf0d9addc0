//! The language server: an editor on the other end of a pipe asks, `lf_lang::editor` answers.
//!
//! A thin shell: the protocol ([`wire`], [`shapes`]), places ([`position`]), the files of a project as the editor has
//! them ([`desk`]), and one method a request ([`session`]). It asks no system: the lock file tells it what connections
//! are. The protocol's two dozen shapes are written by hand: the crates for it read a message of whatever length its
//! header claims, and type more of the protocol than is spoken here.

mod answers;
mod desk;
mod position;
mod session;
mod shapes;
mod wire;

pub use desk::World;
pub use session::{Ended, Opener, serve};
