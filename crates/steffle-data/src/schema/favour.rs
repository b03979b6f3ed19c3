//! Which label people want to get.

use super::Schema;
use crate::Error;
use crate::recipe::Recipe;

/// Pairs of labels of which everybody wants the first. Not `yes` and `no`, nor 1 and 0: of a default or
/// a relapse nobody wants the yes.
const PAIRS: [[&str; 2]; 13] = [
    ["good", "bad"],
    ["accept", "reject"],
    ["accepted", "rejected"],
    ["approve", "deny"],
    ["approved", "denied"],
    ["approved", "rejected"],
    ["approved", "declined"],
    ["granted", "denied"],
    ["admitted", "rejected"],
    ["hired", "rejected"],
    ["pass", "fail"],
    ["passed", "failed"],
    [">50k", "<=50k"],
];

/// The number of the favourable label: as given, the better one of a well-known pair, or the last.
pub(crate) fn favourable(recipe: &Recipe, labels: &[String]) -> Result<u16, Error> {
    let Some(given) = &recipe.favourable else {
        return Ok(better(labels).unwrap_or(labels.len() - 1) as u16);
    };
    let at = labels.iter().position(|label| label == given);
    at.map(|at| at as u16).ok_or_else(|| Error::Favourable {
        given: given.clone(),
        column: recipe.label.clone(),
        classes: labels.to_vec(),
    })
}

/// A sentence that asks for the favourable label, where it was neither given nor is well known.
pub(crate) fn guessed(recipe: &Recipe, labels: &[String]) -> Option<String> {
    let last = labels.last()?;
    (recipe.favourable.is_none() && better(labels).is_none()).then(|| {
        format!(
            "the favourable label is taken to be `{last}`, the last in order; which one do people want \
             to get? Say <favourable>"
        )
    })
}

/// The place of the better one of two well-known labels.
fn better(labels: &[String]) -> Option<usize> {
    let [one, two] = labels else { return None };
    let (one, two) = (one.to_lowercase(), two.to_lowercase());
    let first = |better: &str, worse: &str| PAIRS.contains(&[better, worse]);
    if first(&one, &two) { Some(0) } else { first(&two, &one).then_some(1) }
}

impl Schema {
    /// A sentence that asks for the favourable label, where it was neither given nor is well known.
    pub fn favourable_guessed(&self) -> Option<String> {
        guessed(self.recipe(), self.labels())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_pairs_need_no_question_and_others_do() {
        let told = |labels: [&str; 2]| {
            let labels = labels.map(str::to_owned);
            let recipe = Recipe::default();
            (favourable(&recipe, &labels).unwrap(), guessed(&recipe, &labels).is_some())
        };
        assert_eq!(told(["Accepted", "Rejected"]), (0, false));
        assert_eq!(told(["bad", "good"]), (1, false));
        assert_eq!(told(["0", "1"]), (1, true));
        assert_eq!(told(["no", "yes"]), (1, true));
    }
}
