//! How messages travel between the server and nodes that are not in its process.
//!
//! A node's process reads messages from its standard input and writes answers to its standard
//! output, each in a frame ([`frame`]); [`serve`] is all that it does, and its [`Desk`] remembers what
//! it answered. [`Processes`] is the transport that starts such processes and carries messages to
//! them, so that the walls between organisations are walls between processes, on one machine;
//! [`Relay`] is the one behind which somebody else carries them. [`Journalled`] keeps what a transport
//! carried ([`transcript`]), so that a run that was interrupted goes on.

mod desk;
mod forget;
pub mod frame;
mod journal;
mod masks;
mod owner;
mod processes;
mod relay;
mod serve;
pub mod transcript;

pub use desk::{Desk, Keeps, refuse};
pub use forget::{Forgotten, forget};
pub use journal::{Journal, JournalError, Journalled};
pub use masks::{
    MaskFileError, accept_roster, create_key, open_journal, read_epoch, read_journal, read_key,
};
pub use processes::{Patience, Processes};
pub use relay::Relay;
pub use serve::serve;
