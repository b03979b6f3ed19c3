//! The run directory: a model with everything needed to use it and to know where it came from.
//!
//! | file | what |
//! |---|---|
//! | `model.safetensors` | theta, with the metadata of [`Metadata`] |
//! | `schema.json` | columns, levels, scaling, labels, classes |
//! | `config.toml` | the resolved settings; `train --config` takes them again |
//! | `metrics.json` | the JSON that `train --json` prints |
//! | `trace.jsonl` | one JSON object per round |
//! | `MODEL_CARD.md` | what to tell people about the model |

mod card;
mod metadata;
mod read;
mod safetensors;
mod write;

pub(crate) use card::model_card;
pub(crate) use metadata::Metadata;
pub(crate) use read::{Run, hexadecimal};
pub(crate) use write::{Contents, Destination};

const MODEL: &str = "model.safetensors";
const SCHEMA: &str = "schema.json";
const CONFIG: &str = "config.toml";
const METRICS: &str = "metrics.json";
const TRACE: &str = "trace.jsonl";
const CARD: &str = "MODEL_CARD.md";

#[cfg(test)]
mod tests;
