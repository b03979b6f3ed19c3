use clap::{CommandFactory, FromArgMatches};
use steffle::model::ModelKind;

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
    TrainConfig::from_command(*command, typed).map(|(config, _)| config)
}

#[test]
fn defaults_are_those_of_the_help() {
    let config = resolve(&[]).unwrap();
    assert_eq!(config.data.as_deref(), Some("adult"));
    assert_eq!((config.silos, config.heterogeneity, config.seed), (Some(3), 0.0, 0));
    assert_eq!((config.method, config.mode, config.lambda), (Method::Steffle, Mode::Exact, 1.0));
    let descent = config.descent.unwrap();
    assert_eq!((descent.server, descent.rates), (ServerKind::Improved, None));
    assert_eq!(config.notion, NotionName::DemographicParity);
}

#[test]
fn settling_fills_in_what_depends_on_the_data() {
    let mut config = resolve(&["--mode", "paper", "--epsilon", "1"]).unwrap();
    config.settle(3, &[400, 600], Centralisation::Silos);
    assert_eq!(config.model, Some(ModelKind::Softmax));
    assert_eq!(config.privacy.unwrap().delta, Some(1e-6));
    assert_eq!(config.descent.unwrap().batch, Some(BatchSize::Records(256)));
    assert_eq!(config.descent.unwrap().length, Some(Length::Epochs(40)));

    let settled = |flags: &[&str], sizes: &[usize]| {
        let mut config = resolve(flags).unwrap();
        config.settle(2, sizes, Centralisation::Silos);
        assert_eq!(config.model, Some(ModelKind::Logistic));
        let descent = config.descent.unwrap();
        (descent.batch.unwrap(), descent.length.unwrap())
    };
    let plain: &[&str] = &["--mode", "none", "--server", "plain"];
    assert_eq!(settled(plain, &[20, 200]), (BatchSize::All, Length::Rounds(1000)));
    assert_eq!(settled(plain, &[100, 600]), (BatchSize::Records(100), Length::Rounds(1000)));
    assert_eq!(settled(plain, &[9000, 25_600]), (BatchSize::Records(256), Length::Rounds(4000)));
    assert_eq!(settled(&[], &[100, 600]), (BatchSize::All, Length::Rounds(25)));
    let blocks = settled(&["--batch", "50"], &[100, 600]);
    assert_eq!(blocks, (BatchSize::Records(50), Length::Epochs(25)));
    let secret = settled(&["--mode", "poisson"], &[100, 600]);
    assert_eq!(secret, (BatchSize::Records(100), Length::Rounds(200)));
}

/// A sensitive value can always be missing, and two classes have the centred pair all the same: the
/// noise depends neither on what becomes of incomplete rows nor on who cut the files.
#[test]
fn secret_batches_are_accounted_alike_for_tables_and_files() {
    let mode = |flags: &[&str]| {
        let mut config = resolve(&[&["--mode", "poisson"], flags].concat()).unwrap();
        config.settle(2, &[1000, 1000], Centralisation::Silos);
        config.settings().unwrap().unwrap().mode
    };
    let table = mode(&[]);
    assert!(matches!(table, steffle::train::Mode::Poisson(_)));
    assert_eq!(mode(&["--missing", "category"]), table);
    assert_eq!(mode(&["--data", "parts/job.toml"]), table);
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
        let mut config = resolve(flags).unwrap();
        config.settle(
            2,
            &[1000, 1000, 1000],
            config.centralisation.unwrap_or(Centralisation::Silos),
        );
        std::fs::write(&place, toml::to_string(&config).unwrap()).unwrap();
        let again = resolve(&["--config", place.to_str().unwrap()]).unwrap();
        assert_eq!(again, config, "{flags:?}");
    }
    std::fs::remove_file(place).unwrap();
}

#[test]
fn flags_win_over_the_file() {
    let place = std::env::temp_dir().join(format!("steffle-layers-{}.toml", std::process::id()));
    std::fs::write(&place, "lambda = 3.0\nepochs = 5\nsensitive = ['race']\nsilos = 7\n").unwrap();
    let file = place.to_str().unwrap();
    let config = resolve(&["--config", file, "--lambda", "2", "--rounds", "9"]).unwrap();
    assert_eq!((config.lambda, config.silos), (2.0, Some(7)));
    assert_eq!(config.descent.unwrap().length, Some(Length::Rounds(9)));
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
