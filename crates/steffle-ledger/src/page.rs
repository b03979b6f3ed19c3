//! One line of the file.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steffle_privacy::ledger::{Line, from_hexadecimal, hexadecimal};

use crate::charter::Charter;

/// The digits of a hash.
pub(crate) const DIGITS: usize = 64;

/// What stands before the first line.
pub(crate) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One line of the file, as JSON.
///
/// Every line carries the hash of the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// Its number, from 1.
    pub line: u64,
    /// The hash of the line before.
    pub previous: String,
    /// When it was written, in seconds since 1970: for people, and for no decision.
    pub time: u64,
    /// What it says.
    pub says: Says,
    /// The reply that it commits, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// What a line says: the first is a charter, all others are lines of a book.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(clippy::large_enum_variant, reason = "one is looked at at a time")]
pub enum Says {
    /// The first.
    Charter(Charter),
    /// The others.
    Line(Line),
}

impl Page {
    /// The line with its hash and line break, and the hash. `None` for what has no JSON.
    pub(crate) fn write(&self) -> Option<(Vec<u8>, String)> {
        let json = serde_json::to_string(self).ok()?;
        let hash = hash(json.as_bytes());
        Some((format!("{hash} {json}\n").into_bytes(), hash))
    }

    /// The reply that it commits; an error where it is not what the line says.
    pub(crate) fn reply(&self) -> Result<Option<Vec<u8>>, String> {
        match (&self.says, &self.reply) {
            (Says::Line(Line::Commit { reply: expected, .. }), Some(digits)) => {
                let reply = from_hexadecimal(digits).ok_or("has a reply that is no bytes")?;
                if Sha256::digest(&reply)[..] != expected[..] {
                    return Err("has a reply that is not the one it committed".into());
                }
                Ok(Some(reply))
            }
            (Says::Line(Line::Commit { .. }), None) => Err("lacks the reply it committed".into()),
            (_, None) => Ok(None),
            (_, Some(_)) => Err("has a reply and commits none".into()),
        }
    }
}

/// What follows the hash in a line without its line break, if the hash is right; and the hash.
pub(crate) fn own_hash(line: &[u8]) -> Option<(&[u8], &str)> {
    let (digits, rest) = line.split_at_checked(DIGITS)?;
    let json = rest.strip_prefix(b" ")?;
    let digits = std::str::from_utf8(digits).ok()?;
    (hash(json) == digits).then_some((json, digits))
}

/// The digits of SHA-256.
pub(crate) fn hash(json: &[u8]) -> String {
    hexadecimal(&Sha256::digest(json))
}
