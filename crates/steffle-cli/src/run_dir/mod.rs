//! The run directory: a model with everything needed to use it and to know where it came from.
//!
//! The files of the model are those of `steffle_front::Model::files`; beside them are
//!
//! | file | what |
//! |---|---|
//! | `config.toml` | the resolved settings; `train --config` takes them again |
//! | `MODEL_CARD.md` | what to tell people about the model |
//! | `report.html` | the result, groups, pictures and privacy on one page |
//!
//! and in `metrics.json` is the JSON that `train --json` prints.

mod card;
mod page;
mod write;

pub(crate) use card::model_card;
pub(crate) use page::run_page;
pub(crate) use write::Destination;
