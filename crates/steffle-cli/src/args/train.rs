//! What was typed after `steffle train`, or stands in its configuration file.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use serde::Deserialize;
use steffle_front::{BatchSize, METHODS, Value};

use super::{CutArgs, DataArgs};
use crate::config::overlay;

/// Train a fair classifier across silos and write a run directory
///
/// Without arguments: the embedded Adult data, 3 silos, logistic regression, demographic parity.
/// Prints test error and fairness gaps beside those of the unconstrained model, what privacy the
/// settings give and to whom, and where the run directory is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  steffle train
  steffle train --lambda 5 --notion equalized-odds --silos 6 --heterogeneity 0.75
  steffle train --data hiring.csv --label hired --sensitive gender --classes female,male
  steffle train --epsilon 0.5 --silos 1 --ledger people.ledger
  steffle train --method one-shot --epsilon 0.25 --target-gap 0.05
  steffle train --mode none --server plain --batch 256 --epochs 40
  steffle train --mode paper --epsilon 3 --batch 256 --epochs 40
  steffle train --config runs/adult-1/config.toml --lambda 0.5
  steffle train --dry-run --json

A configuration file is TOML; its keys are the long flags without dashes in front:
  lambda = 2.0
  sensitive = [\"gender\"]
  classes = [\"female\", \"male\"]
Flags win over the file, the file over the defaults. A key that is no flag is an error.")]
pub(crate) struct TrainCommand {
    #[command(flatten)]
    pub(crate) train: TrainArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) cut: CutArgs,
    /// Read settings from a TOML file; flags win
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) config: Option<PathBuf>,
    /// Pay for the run from the budget book of its store, or from a folder of one book per store
    /// (`steffle ledger init`): a private run, with --noise secure
    #[arg(long, value_name = "FILE", help_heading = "Privacy")]
    pub(crate) ledger: Option<PathBuf>,
    /// Keep every request and reply of the run in a file, each before it is used: the same command goes
    /// on with a run that was interrupted, and `steffle audit transcript` reads it
    #[arg(long, value_name = "FILE", help_heading = "Run")]
    pub(crate) journal: Option<PathBuf>,
    /// Buy the final metrics by group with this share of the run's budget, with noise, from the test
    /// rows: training has the rest of it [default: none, and no metrics by group]
    #[arg(
        long,
        value_name = "SHARE",
        allow_negative_numbers = true,
        requires = "ledger",
        help_heading = "Privacy"
    )]
    pub(crate) metrics_share: Option<f64>,
    /// Print the resolved plan and what it would cost, and compute nothing
    #[arg(long, help_heading = "Run")]
    pub(crate) dry_run: bool,
    /// Print all that is said about privacy, not only its summary
    #[arg(long, help_heading = "Run")]
    pub(crate) explain: bool,
    /// Replace an existing run directory
    #[arg(long, help_heading = "Run")]
    pub(crate) force: bool,
}

/// Settings of `train` that no other command has.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Method")]
pub(crate) struct TrainArgs {
    /// adult, credit-card, retired-adult and bank-marketing (with --path), a file (.csv, .tsv, .parquet), or a
    /// job.toml that `data partition` wrote [default: adult]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Data")]
    pub(crate) data: Option<String>,
    /// Train from records files without sensitive columns, one per silo
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Data")]
    pub(crate) records: Vec<PathBuf>,
    /// The attributes files that go with --records, one per attributes holder
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Data")]
    pub(crate) attributes: Vec<PathBuf>,
    /// The rows to report on: of --records, or of a table, all of whose rows are then trained on
    /// [default for a table: a quarter of its rows]
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    pub(crate) test: Option<PathBuf>,
    /// Hold out this share of the training rows and report on them [default: 0, or 0.1
    /// where an excess is limited]
    #[arg(long, value_name = "FRACTION", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) validation: Option<f64>,
    /// Test records that a group's rate must be of to count in a gap; smaller groups are listed as not
    /// enough evidence [default: 30]
    #[arg(long, value_name = "N", help_heading = "Data")]
    pub(crate) min_group: Option<u32>,

    #[arg(
        long,
        value_name = "METHOD",
        help = methods(),
        value_parser = PossibleValuesParser::new(steffle_front::names())
    )]
    pub(crate) method: Option<String>,
    /// logistic, softmax, or mlp:WIDTH,... [default: logistic for two labels, else softmax]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// demographic-parity, equalized-odds, equal-opportunity, accuracy-parity, conditional:COLUMN or none
    /// [default: demographic-parity]
    #[arg(long, value_name = "NOTION")]
    pub(crate) notion: Option<String>,
    /// Weight of fairness against accuracy, 0 or more [default: 1]
    #[arg(long, value_name = "WEIGHT", allow_negative_numbers = true, value_parser = one_lambda)]
    pub(crate) lambda: Option<f64>,
    /// With one-shot: take the smallest lambda whose estimated gap on the training rows is at most
    /// this, from the release alone, so at no cost
    #[arg(long, value_name = "GAP", allow_negative_numbers = true)]
    pub(crate) target_gap: Option<f64>,
    /// Take the largest lambda whose error on validation rows is at most this above the unconstrained
    /// model's: the fairest model for this much accuracy. The search costs no privacy
    #[arg(long, value_name = "EXCESS", allow_negative_numbers = true)]
    pub(crate) max_excess: Option<f64>,
    /// tau: fairness is measured in training on softmax(tau x logits), closer to decisions the
    /// larger; the loss and predictions never see it [default: 1]
    #[arg(long, value_name = "TAU", allow_negative_numbers = true)]
    pub(crate) surrogate_sharpness: Option<f64>,
    /// With a network: what its parameters are pulled towards 0 by in the silos' passes, for their
    /// size; from 0 to 1 [default: 0.0001]
    #[arg(long, value_name = "PULL", allow_negative_numbers = true)]
    pub(crate) l2: Option<f64>,

    /// With pf-ld: released (the signs of the constraints come from noisy releases, sound) or batch
    /// (from every batch itself, as published; its claim does not hold) [default: released; batch in
    /// --mode paper]
    #[arg(long, value_name = "WHICH", value_parser = ["released", "batch"])]
    pub(crate) sign: Option<String>,

    /// exact (a guarantee that holds), poisson (the same on secret batches), none (no noise, no
    /// claim) or paper (noise of Theorem 3.2, whose claim does not hold) [default: exact]
    #[arg(
        long,
        value_name = "MODE",
        value_parser = ["exact", "poisson", "none", "paper"],
        help_heading = "Privacy"
    )]
    pub(crate) mode: Option<String>,
    /// Privacy parameter of each silo, above 0 [default: 1; --mode paper needs it]
    #[arg(long, value_name = "E", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) epsilon: Option<f64>,
    /// Failure probability of the guarantee, between 0 and 1 [default: 1/(training rows)^2]
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) delta: Option<f64>,
    /// Share of a silo's rows that keep their length in the private message; longer ones are
    /// scaled back, whatever their class [default: 0.5, below epsilon 0.5: 0.2, above 3: towards
    /// 1; networks: 0.9, above epsilon 1: towards 1]
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) row_cap: Option<f64>,
    /// shaped (by the silo's own rows; linear models of 20 to 2000 features under one roof) or
    /// isotropic [default: shaped]
    #[arg(
        long,
        value_name = "SHAPE",
        value_parser = ["shaped", "isotropic"],
        help_heading = "Privacy"
    )]
    pub(crate) noise_shape: Option<String>,
    /// record (every unit pays its own cost and leaves when it has spent its budget) or round (the
    /// largest cost of every round); public blocks and holders elsewhere go by round [default:
    /// record]
    #[arg(
        long,
        value_name = "WHOSE",
        value_parser = ["record", "round"],
        help_heading = "Privacy"
    )]
    pub(crate) accounting: Option<String>,
    /// simulated (from the seed: repeatable, not private) or secure (from the operating system)
    /// [default: simulated]
    #[arg(
        long,
        value_name = "SOURCE",
        value_parser = ["simulated", "secure"],
        help_heading = "Privacy"
    )]
    pub(crate) noise: Option<String>,
    /// With one-shot: silos also share Gram matrices of their features, their caps and their noisy
    /// sums, and are decoded together
    #[arg(
        long,
        value_name = "YES",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "Privacy"
    )]
    pub(crate) pool: Option<bool>,
    /// Add up the silos' sums under masks, so that the server learns sums over all silos and nothing of
    /// one; for steffle, one-shot and randomised-response, 3 to 127 silos with both divisions
    #[arg(
        long,
        value_name = "YES",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "Privacy"
    )]
    pub(crate) secure_aggregation: Option<bool>,
    /// With --secure-aggregation (one-shot: and --pool): how much of the noise each silo adds: each (all of it; the
    /// claim holds whoever else is there) or once (a share: all silos together add one noise, and the
    /// claim is against the server and --colluders of them) [default: each]
    #[arg(
        long,
        value_name = "HOW",
        value_parser = ["each", "once"],
        help_heading = "Privacy"
    )]
    pub(crate) noise_shares: Option<String>,
    /// With --noise-shares once: how many silos may help the server [default: less than half]
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub(crate) colluders: Option<u32>,
    /// Bound L on each record's part of the theta message in --mode paper [default: 1], or of the
    /// gradient sum in fedfdp
    #[arg(long, value_name = "L", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) clip: Option<f64>,
    /// Diameter D of the ball that holds the dual variable W in --mode paper [default: 3]
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Privacy")]
    pub(crate) diameter: Option<f64>,

    /// Who holds what: one-silo, silos, central-attributes (one holder for all silos) or
    /// general:Q (Q holders with a cut of their own) [default: silos]
    #[arg(long, value_name = "WHO", help_heading = "Silos")]
    pub(crate) centralisation: Option<String>,

    /// improved (averages messages, solves for W, steps along the public curvature) or plain
    /// (Algorithm 1's own steps) [default: improved; plain in --mode paper]
    #[arg(
        long,
        value_name = "SERVER",
        value_parser = ["improved", "plain"],
        help_heading = "Optimisation"
    )]
    pub(crate) server: Option<String>,
    /// Rounds of communication [default: 25 with the improved server]
    #[arg(long, value_name = "N", conflicts_with = "epochs", help_heading = "Optimisation")]
    pub(crate) rounds: Option<u32>,
    /// Passes over the largest silo, instead of --rounds [default with --server plain: 40, and at
    /// least 1000 rounds without noise]
    #[arg(long, value_name = "N", help_heading = "Optimisation")]
    pub(crate) epochs: Option<u32>,
    /// With fedavg, and fedfdp --mode none: passes of every silo over its records in a round
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "Optimisation")]
    pub(crate) local_epochs: Option<u32>,
    /// Records per silo and round: minibatches in modes none and paper, public blocks in mode
    /// exact, the expected size of a secret batch in mode poisson [default: all; with --server
    /// plain or mode poisson 256, or as many as the smallest silo has]
    #[arg(long, value_name = "N|all", help_heading = "Optimisation")]
    pub(crate) batch: Option<BatchSize>,
    /// Step size of theta with --server plain, decaying by 0.8 at every quarter of the run
    /// [default: 0.25]
    #[arg(long, value_name = "ETA", allow_negative_numbers = true, help_heading = "Optimisation")]
    pub(crate) lr_theta: Option<f64>,
    /// Step size of the dual variable W with --server plain [default: 0.1, divided by lambda where that is above 1]
    #[arg(long, value_name = "ETA", allow_negative_numbers = true, help_heading = "Optimisation")]
    pub(crate) lr_dual: Option<f64>,
    /// Which iterate to return: last, average, or random (the paper's) [default: last]
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = ["last", "average", "random"],
        help_heading = "Optimisation"
    )]
    pub(crate) output: Option<String>,

    /// Threads to compute with; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) threads: Option<usize>,
    /// Run every party of a job.toml in a process of its own, on this machine; the result is the same
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", help_heading = "Run")]
    pub(crate) processes: Option<bool>,
    /// The run directory to create [default: runs/DATA-N, N the first free number]
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) out: Option<PathBuf>,
}

/// One weight; several are a sweep.
fn one_lambda(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| {
        if !text.contains(',') {
            return "it must be a number".to_owned();
        }
        format!(
            "train takes one lambda; for several: steffle sweep --lambda {text}, with the other flags \
             as they are"
        )
    })
}

/// All methods and what they are.
fn methods() -> String {
    let each: Vec<String> =
        METHODS.iter().map(|entry| format!("{} ({})", entry.name, entry.about)).collect();
    let (last, others) = each.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
    format!("{}, or {last} [default: steffle]", others.join(", "))
}

impl TrainArgs {
    /// What was said about the method, by the keys of its settings.
    pub(crate) fn said(&self) -> Vec<(&'static str, Value)> {
        let words = [
            ("model", &self.model),
            ("notion", &self.notion),
            ("sign", &self.sign),
            ("mode", &self.mode),
            ("noise-shape", &self.noise_shape),
            ("accounting", &self.accounting),
            ("noise", &self.noise),
            ("noise-shares", &self.noise_shares),
            ("centralisation", &self.centralisation),
            ("server", &self.server),
            ("output", &self.output),
        ];
        let numbers = [
            ("lambda", self.lambda),
            ("target-gap", self.target_gap),
            ("max-excess", self.max_excess),
            ("surrogate-sharpness", self.surrogate_sharpness),
            ("l2", self.l2),
            ("epsilon", self.epsilon),
            ("delta", self.delta),
            ("row-cap", self.row_cap),
            ("clip", self.clip),
            ("diameter", self.diameter),
            ("lr-theta", self.lr_theta),
            ("lr-dual", self.lr_dual),
        ];
        let counts = [
            ("rounds", self.rounds),
            ("epochs", self.epochs),
            ("local-epochs", self.local_epochs),
            ("colluders", self.colluders),
        ];
        let flags = [("pool", self.pool), ("secure-aggregation", self.secure_aggregation)];
        let words =
            words.iter().filter_map(|(key, word)| Some((*key, Value::from(word.as_deref()?))));
        let numbers =
            numbers.iter().filter_map(|(key, number)| Some((*key, Value::from((*number)?))));
        let counts = counts.iter().filter_map(|(key, count)| Some((*key, Value::from((*count)?))));
        let flags = flags.iter().filter_map(|(key, flag)| Some((*key, Value::from((*flag)?))));
        let batch = self.batch.map(|batch| ("batch", Value::from(batch)));
        words.chain(numbers).chain(counts).chain(flags).chain(batch).collect()
    }

    /// These settings, and `below` where these say nothing.
    pub(crate) fn over(self, mut below: Self) -> Self {
        // Rounds and epochs are two ways to say one thing: typing either overrules the file's.
        if self.rounds.is_some() || self.epochs.is_some() {
            (below.rounds, below.epochs) = (None, None);
        }
        overlay!(
            self, below;
            data, records, attributes, test, min_group, validation, method, model, notion, lambda,
            target_gap, max_excess, surrogate_sharpness, l2, sign, mode, epsilon, delta, row_cap, noise_shape,
            accounting,
            noise,
            pool, secure_aggregation, noise_shares, colluders, clip, diameter, centralisation, server,
            rounds, epochs, local_epochs, batch, lr_theta, lr_dual, output, threads, processes, out
        )
    }
}
