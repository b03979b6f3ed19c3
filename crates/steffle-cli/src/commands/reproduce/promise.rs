//! What a curve looks like and promises, from what its method says of itself.

use serde_json::Value;
use steffle_front::{Entry, Protects};
use steffle_report::{Mark, Privacy};

/// The look of a method's curves; published noise has none of its own.
pub(super) fn mark(method: &str) -> Option<Mark> {
    let look = Entry::of(method).ok()?.look;
    Some(Mark { colour: look.colour.to_owned(), marker: look.marker.to_owned() })
}

/// What a run of a method promises, from the `privacy` object of its line.
pub(super) fn promise(method: &Entry, privacy: &Value) -> Privacy {
    let number = |key: &str| privacy[key].as_f64();
    let private = privacy["kind"] != "none";
    let holds = privacy["holds"].as_bool().unwrap_or(false);
    let asked = number("epsilon").filter(|_| private);
    let Protects { what, trusted, .. } = method.protects;
    let (protects, trusted) = if private { (*what, *trusted) } else { ("nothing", "everybody") };
    Privacy {
        honest_epsilon: number("honest_epsilon").filter(|_| private),
        least_honest_epsilon: None,
        claimed_epsilon: number("claimed_epsilon").or(asked).filter(|_| private && !holds),
        delta: number("delta").filter(|_| private),
        protects: protects.to_owned(),
        trusted: trusted.to_owned(),
        holds: holds || !private,
    }
}
