//! A model whose probabilities are moved by a one-shot release: the plug-in rule.

use std::collections::BTreeMap;
use std::sync::Arc;

use steffle::one_shot::PlugIn;
use steffle::record::Rows;

use super::safetensors;

/// The rule and its lambda.
#[derive(Debug, Clone)]
pub(crate) struct Adjusted {
    pub(crate) rule: Arc<PlugIn>,
    pub(crate) lambda: f64,
}

impl Adjusted {
    /// Moves probabilities, `[row][label]`, so that the more probable label is the rule's.
    pub(crate) fn adjust(&self, rows: &Rows, probabilities: &mut [f64]) {
        self.rule.adjust(rows, self.lambda, probabilities);
    }

    /// As a file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let numbers = [vec![self.lambda], self.rule.to_numbers()].concat();
        let facts = BTreeMap::from([("format".to_owned(), "steffle-plug-in".to_owned())]);
        safetensors::encode(&numbers, &facts)
    }

    /// From a file, for rows of `size` numbers, bias included; says what is wrong with another.
    pub(super) fn decode(file: &[u8], size: usize) -> Result<Self, String> {
        let (numbers, _) = safetensors::decode(file)?;
        let Some((&lambda, rule)) = numbers.split_first() else {
            return Err("it has no numbers".to_owned());
        };
        let rule = PlugIn::from_numbers(size, rule).map_err(|error| error.to_string())?;
        Ok(Self { rule: Arc::new(rule), lambda })
    }
}
