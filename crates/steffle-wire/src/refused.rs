//! Why a node does not answer.

use std::fmt;

use steffle_model::linear::NotPositive;
use steffle_model::model::ModelError;
use steffle_privacy::PrivacyError;
use steffle_privacy::ledger::Refusal;

use super::codec::{CodecError, Decode, Encode, Reader, Writer};
use super::summed::Beyond;

/// A refusal, as it travels. No part of it depends on `s`.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// What programs tell refusals apart by, such as `steffle::ledger::budget`.
    pub code: String,
    /// What people read.
    pub text: String,
    /// Numbers that the code gives a meaning to.
    pub numbers: Vec<f64>,
}

impl Refused {
    /// The code of bytes that are not the message that was due.
    pub const MESSAGE: &'static str = "steffle::wire::message";
    /// The code of a request that its state does not allow.
    pub const STATE: &'static str = "steffle::node::state";

    /// The code of sums that are too large to be added up.
    pub const RANGE: &'static str = "steffle::node::range";

    /// The code of record ids that two nodes claim, whose numbers it has.
    pub const IDS: &'static str = "steffle::node::ids";

    /// A refusal without numbers.
    pub fn new(code: impl Into<String>, text: impl fmt::Display) -> Self {
        Self { code: code.into(), text: text.to_string(), numbers: Vec::new() }
    }

    /// One because of what came before.
    pub fn state(text: impl fmt::Display) -> Self {
        Self::new(Self::STATE, text)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refused {}

impl From<CodecError> for Refused {
    fn from(error: CodecError) -> Self {
        Self::new(Self::MESSAGE, error)
    }
}

impl From<Beyond> for Refused {
    fn from(beyond: Beyond) -> Self {
        Self::new(Self::RANGE, beyond)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal)
    }
}

impl From<NotPositive> for Refused {
    fn from(error: NotPositive) -> Self {
        let text = format!("the released message cannot be decoded: {error}");
        Self::new("steffle::one_shot::release", text)
    }
}

impl From<PrivacyError> for Refused {
    fn from(error: PrivacyError) -> Self {
        Self::new("steffle::privacy", error)
    }
}

impl From<ModelError> for Refused {
    fn from(error: ModelError) -> Self {
        Self::new("steffle::node::model", error)
    }
}

impl Encode for Refused {
    fn encode(&self, writer: &mut Writer) {
        writer.text(&self.code);
        writer.text(&self.text);
        writer.f64s(&self.numbers);
    }
}

impl Decode for Refused {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { code: reader.text()?, text: reader.text()?, numbers: reader.f64s()? })
    }
}
