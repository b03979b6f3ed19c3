//! What readers call a method, whom it trusts and what it protects.

use serde_json::Value;
use steffle_report::Privacy;

use crate::config::{Method, Mode};

/// A method for readers.
pub(super) fn label(method: Method, mode: Mode) -> &'static str {
    match (method, mode) {
        (Method::Steffle, Mode::Paper) => "SteFFLe, paper's noise",
        (Method::Steffle, Mode::None) => "SteFFLe, no noise",
        (Method::Steffle, Mode::Poisson) => "SteFFLe, secret batches",
        (Method::Steffle, Mode::Exact) => "SteFFLe, exact noise",
        (Method::DpFermi, Mode::Paper) => "DP-FERMI, published noise",
        (Method::DpFermi, _) => "DP-FERMI",
        (Method::OneShot, _) => "one-shot",
        (Method::RandomisedResponse, _) => "randomised response",
        (Method::Fermi, _) => "FERMI (not private)",
        (Method::SteffleNonprivate, _) => "SteFFLe (not private)",
        (Method::FedAvg, _) => "FedAvg (not fair)",
        (Method::Erm, _) => "ERM (not fair)",
        (Method::PfLd, Mode::Paper) => "PF-LD, as published",
        (Method::PfLd, Mode::None) => "PF-LD (not private)",
        (Method::PfLd, _) => "PF-LD",
        (Method::FedFdp, Mode::None) => "FedFair (not private)",
        (Method::FedFdp, _) => "FedFDP",
        (Method::Reductions, _) => "reductions (not private)",
    }
}

/// What a run of the method promises, from the `privacy` object of its line.
pub(super) fn promise(method: Method, privacy: &Value) -> Privacy {
    let number = |key: &str| privacy[key].as_f64();
    let private = privacy["kind"] != "none";
    let holds = privacy["holds"].as_bool().unwrap_or(false);
    let asked = number("epsilon").filter(|_| private);
    let (protects, trusted) = if private { words(method) } else { ("nothing", "everybody") };
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

/// What is protected, and who must be trusted.
fn words(method: Method) -> (&'static str, &'static str) {
    let sensitive = "the sensitive attribute of a record";
    match method {
        Method::RandomisedResponse => (sensitive, "nobody"),
        Method::DpFermi | Method::PfLd => (sensitive, "a curator who has all data"),
        Method::FedFdp => ("a whole record", "the own silo"),
        _ => (sensitive, "the own silo"),
    }
}
