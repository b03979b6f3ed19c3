//! No product breaks its promise on demand: how that would end is tried with a made-up finding.

use clap::Parser;

use super::*;
use crate::args::{Cli, Command};

fn broken(pure: bool) -> Finding {
    let mu = |value: f64| (!pure).then_some(value);
    Finding {
        violation: true,
        claimed_mu: mu(1.0),
        estimated_mu: mu(2.0),
        lower_mu: mu(1.9),
        claimed_epsilon: 4.0,
        estimated_epsilon: 10.0,
        lower_epsilon: 9.0,
        clopper_pearson_epsilon: 5.0,
        delta: if pure { 0.0 } else { 1e-5 },
        confidence: 0.999,
        runs: 1000,
        calibration_runs: 250,
        thresholds: Vec::new(),
        curve: vec![[1.0, 0.0], [0.1, 0.1], [0.0, 1.0]],
    }
}

fn args(flags: &[&str]) -> AuditArgs {
    let typed = ["steffle", "audit"].iter().chain(flags);
    let Command::Audit(command) = Cli::try_parse_from(typed).unwrap().command else {
        panic!("another command")
    };
    command.args
}

#[test]
fn a_broken_promise_ends_with_status_5_and_is_said() {
    for (flags, pure, words) in [
        (&[][..], false, "mu is at least 1.9000 with 99.9 % confidence, and 1.0000 is claimed"),
        (&["--method", "randomised-response"], true, "epsilon is at least 9.0000"),
    ] {
        let (args, finding) = (args(flags), broken(pure));
        let failure = verdict(&args, &finding).unwrap_err();
        assert_eq!(
            (failure.status, failure.code.as_str()),
            (Status::Threshold, "steffle::audit::violation")
        );
        assert_eq!(failure.status as u8, 5);
        assert!(failure.message.contains(words), "{failure}");
        let page = page::page(&args, &finding).unwrap();
        assert!(page.contains("The promise is broken") && page.contains("lead violated"), "{page}");
        let text = text(&args, &finding, Output::peek(&[]));
        assert!(
            text.contains("The promise is broken")
                && text.contains(words.split(" with").next().unwrap())
        );
    }
    let kept = Finding { violation: false, ..broken(false) };
    assert!(verdict(&args(&[]), &kept).is_ok());
}
