use clap::{CommandFactory, FromArgMatches};
use serde_json::{Value, json};

use super::*;
use crate::args::{Cli, Command};

/// What a command line means.
fn resolve(flags: &[&str]) -> Result<TrainConfig, Failure> {
    let typed = ["steffle", "train"].iter().chain(flags);
    let matches = Cli::command().try_get_matches_from(typed).unwrap();
    let Command::Train(command) = Cli::from_arg_matches(&matches).unwrap().command else {
        panic!("not train");
    };
    let typed = matches.subcommand_matches("train").unwrap();
    TrainConfig::from_command(*command, typed, None).map(|(config, _)| config)
}

#[test]
fn defaults_are_those_of_the_help() {
    let config = resolve(&[]).unwrap();
    assert_eq!(config.data.as_deref(), Some("adult"));
    assert_eq!((config.silos, config.heterogeneity, config.seed), (Some(3), 0.0, 0));
    let written = json!(config);
    for (key, value) in [
        ("method", json!("steffle")),
        ("mode", json!("exact")),
        ("lambda", json!(1.0)),
        ("notion", json!("demographic-parity")),
        ("server", json!("improved")),
        ("lr-theta", Value::Null),
    ] {
        assert_eq!(written[key], value, "{key}");
    }
}

#[test]
fn settings_written_down_give_the_same_settings() {
    let place = std::env::temp_dir().join(format!("steffle-config-{}.toml", std::process::id()));
    let lines: [&[&str]; 9] = [
        &["--method", "randomised-response", "--epsilon", "0.3", "--noise", "secure"],
        &["--mode", "paper", "--epsilon", "0.3", "--batch", "all", "--rounds", "7"],
        &["--method", "fedfdp", "--epsilon", "0.3", "--clip", "2", "--rounds", "7"],
        &["--method", "fedavg", "--local-epochs", "3", "--lr-theta", "0.1"],
        &["--data", "x.csv", "--label", "y", "--sensitive", "a", "--classes", "u,v"],
        &["--row-cap", "0.3", "--noise-shape", "isotropic", "--noise", "secure"],
        &["--mode", "none", "--server", "plain", "--lr-dual", "0.2"],
        &["--centralisation", "general:4", "--model", "mlp:8,4", "--seed", "12", "--drop", "b"],
        &["--notion", "conditional:a b", "--output", "random", "--validation", "0.2"],
    ];
    for flags in lines {
        let config = resolve(flags).unwrap();
        std::fs::write(&place, toml::to_string(&config).unwrap()).unwrap();
        let again = resolve(&["--config", place.to_str().unwrap()]).unwrap();
        assert_eq!(json!(again), json!(config), "{flags:?}");
    }
    std::fs::remove_file(place).unwrap();
}

#[test]
fn flags_win_over_the_file() {
    let place = std::env::temp_dir().join(format!("steffle-layers-{}.toml", std::process::id()));
    std::fs::write(&place, "lambda = 3.0\nepochs = 5\nsensitive = ['race']\nsilos = 7\n").unwrap();
    let file = place.to_str().unwrap();
    let config = resolve(&["--config", file, "--lambda", "2", "--rounds", "9"]).unwrap();
    let written = json!(config);
    assert_eq!((&written["lambda"], &written["rounds"]), (&json!(2.0), &json!(9)));
    assert_eq!((written.get("epochs"), config.silos), (None, Some(7)));
    assert_eq!(config.meaning.sensitive, ["race"]);
    std::fs::remove_file(place).unwrap();
}

#[test]
fn contradictions_are_refused() {
    let lines: [&[&str]; 12] = [
        &["--mode", "none", "--epsilon", "1"],
        &["--clip", "1"],
        &["--mode", "paper", "--epsilon", "1", "--row-cap", "0.5"],
        &["--mode", "paper", "--epsilon", "1", "--server", "improved"],
        &["--lr-theta", "0.1"],
        &["--mode", "paper"],
        &["--method", "erm", "--lambda", "2"],
        &["--method", "erm", "--batch", "10"],
        &["--method", "erm", "--mode", "paper", "--epsilon", "1"],
        &["--centralisation", "one-silo", "--silos", "2"],
        &["--records", "a.csv"],
        &["--data", "adult", "--records", "a", "--attributes", "b", "--test", "c"],
    ];
    for flags in lines {
        assert_eq!(resolve(flags).unwrap_err().code, "steffle::config::conflict", "{flags:?}");
    }
}
