//! What `train` says about a run, as JSON and as text.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use steffle_data::{Schema, SmallStrata};
use steffle_front::{
    Aggregation, Bootstrap, Entry, ExcessReport, Fairer, HeldOut, Leaves, Model, NotionName,
    OneShotReport, Plan, Privacy, Report, Study, Theorem, Took,
};

use super::metrics::MetricsReport;
use super::private::LedgerReport;
use crate::commands::judge::gaps_in_evidence;
use crate::commands::noisy;
use crate::config::TrainConfig;
use crate::failure::Failure;
use crate::ui::{Output, Rows, all_flags, left_out, number, percent, wrap};

/// Said in place of what a private run does not measure.
pub(crate) const WITHOUT_GROUPS: &str = "Rates and gaps by group are not measured in a private run: a number \
                                         that is computed from the sensitive attribute of held-out rows is \
                                         a release of its own.";

/// The JSON of `train`. Its names are a contract for users' scripts.
#[derive(Debug, Serialize)]
pub(crate) struct TrainReport {
    pub(crate) method: &'static str,
    #[serde(skip)]
    pub(crate) entry: &'static Entry,
    /// Absent for methods that have none.
    pub(crate) mode: Option<String>,
    pub(crate) data: String,
    pub(crate) model: String,
    pub(crate) notion: String,
    /// Of conditional parity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cells: Option<Cells>,
    pub(crate) centralisation: String,
    pub(crate) features: usize,
    pub(crate) parameters: usize,
    pub(crate) labels: Vec<String>,
    pub(crate) favourable: String,
    pub(crate) rows: RowCounts,
    pub(crate) silos: usize,
    pub(crate) silo_rows: Vec<usize>,
    pub(crate) attributes_holders: usize,
    pub(crate) lambda: f64,
    pub(crate) surrogate_sharpness: f64,
    /// Of networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) l2: Option<f64>,
    pub(crate) rounds: u32,
    /// Requests of the server to the nodes and their replies, all of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rounds_on_the_wire: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) test: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) validation: Option<Report>,
    pub(crate) baseline: Report,
    pub(crate) privacy: Privacy,
    /// What leaves a silo without noise.
    pub(crate) leaves_in_clear: Vec<Leaves>,
    /// How sums were added up, where that was under masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aggregation: Option<Aggregation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<Theorem>,
    /// mu that the dearest store has spent on Gaussian messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spent_mu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal_to_noise: Option<f64>,
    /// Whether the model is fairer, as far as released numbers can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fairer: Option<Fairer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) one_shot: Option<OneShotReport>,
    /// What a budget for accuracy came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) excess: Option<ExcessReport>,
    /// Final metrics by group that a share of the budget has bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<MetricsReport>,
    /// What the stores' books say of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<LedgerReport>,
    pub(crate) warnings: Vec<String>,
    pub(crate) cpu_seconds: Option<f64>,
    pub(crate) wall_seconds: f64,
    /// What these two leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unconstrained_seconds: Option<Took>,
    pub(crate) run_dir: std::path::PathBuf,
}

/// The cells of conditional parity.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Cells {
    /// Whose values they are.
    pub(crate) column: String,
    pub(crate) count: usize,
    /// Values that are no cells of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) small: Option<SmallStrata>,
}

impl Cells {
    fn of(schema: &Schema, notion: &NotionName) -> Option<Self> {
        let NotionName::Conditional(column) = notion else { return None };
        let (count, small) = (schema.strata().len(), schema.small_strata().cloned());
        Some(Self { column: column.clone(), count, small })
    }
}

/// Rows by use.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RowCounts {
    pub(crate) train: usize,
    pub(crate) validation: usize,
    pub(crate) test: usize,
    /// Left out for missing values.
    pub(crate) dropped: usize,
    /// Why: per column of label, features and stratum, how many rows miss its value. Never of a
    /// sensitive column.
    pub(crate) dropped_for: BTreeMap<String, usize>,
}

impl RowCounts {
    pub(crate) fn of(study: &Study) -> Self {
        Self {
            train: study.rows(),
            validation: study.validation().map_or(0, HeldOut::len),
            test: study.test().len(),
            dropped: study.about().dropped,
            dropped_for: study.about().missing.clone(),
        }
    }
}

impl TrainReport {
    /// What there is to say about a model; `baseline` is what the unconstrained one does.
    pub(super) fn new(
        config: &TrainConfig,
        plan: &Plan,
        model: &Model,
        baseline: Report,
        bootstrap: Option<Bootstrap>,
        run_dir: &Path,
    ) -> Result<Self, Failure> {
        let (study, aim) = (plan.study(), plan.method().aim());
        let schema = study.schema();
        let outcome = model.outcome().ok_or_else(|| Failure::bug("a trained model was loaded"))?;
        let measure = |held| {
            let held = plan.measurable(held);
            Ok::<_, Failure>(model.judge_by(&held, bootstrap, config.min_group())?.report)
        };
        Ok(Self {
            method: model.method().name,
            entry: model.method(),
            mode: model.method().has_mode().then(|| plan.method().mode().to_string()),
            data: config.data.clone().unwrap_or_else(|| config.name()),
            model: aim.model.as_ref().map_or_else(String::new, ToString::to_string),
            notion: aim.notion.to_string(),
            cells: Cells::of(schema, &aim.notion),
            centralisation: study.centralisation().to_string(),
            features: schema.layout().features,
            parameters: plan.parameters(),
            labels: schema.labels().to_vec(),
            favourable: schema.labels()[usize::from(schema.favourable())].clone(),
            rows: RowCounts::of(study),
            silos: study.sizes().len(),
            silo_rows: study.known_sizes(),
            attributes_holders: study.attributes_holders(),
            lambda: model.lambda(),
            surrogate_sharpness: aim.sharpness,
            l2: aim.l2,
            rounds: outcome.rounds,
            rounds_on_the_wire: outcome.trips,
            seed: config.seed,
            test: measure(study.test())?,
            validation: study.validation().map(measure).transpose()?,
            baseline,
            privacy: model.privacy().clone(),
            leaves_in_clear: model.leaves().to_vec(),
            aggregation: plan.aggregation().cloned(),
            noise: outcome.theorem,
            spent_mu: outcome.spent_mu,
            signal_to_noise: outcome.signal_to_noise,
            fairer: outcome.fairer,
            one_shot: outcome.one_shot.clone(),
            excess: outcome.excess,
            metrics: None,
            ledger: None,
            warnings: all_flags(&[model.warnings(), &study.absences()].concat()),
            cpu_seconds: outcome.took.cpu,
            wall_seconds: outcome.took.wall,
            unconstrained_seconds: outcome.unconstrained_took,
            run_dir: run_dir.to_path_buf(),
        })
    }

    /// What is not measured or not compared, a sentence each.
    pub(crate) fn evidence(&self) -> Vec<String> {
        if let Some(metrics) = &self.metrics {
            let mut said = vec![metrics.paid()];
            said.extend(noisy::sentences(&metrics.report, self.favourable_label()));
            return said;
        }
        if self.privacy.is_private() {
            return vec![WITHOUT_GROUPS.to_owned()];
        }
        gaps_in_evidence(&self.test)
    }

    /// As a person reads it: the result, what to look at, privacy in brief, and where everything is.
    pub(crate) fn text(&self, explain: bool, output: Output) -> String {
        let mut text = String::new();
        // A promise that does not hold comes before anything else.
        if self.privacy.is_broken() {
            text += &self.privacy_text(explain, output);
            text += "\n";
        }
        text += &self.overall_text();
        text += "\n";
        if let Some(metrics) = &self.metrics {
            text += &noisy::groups_table(&metrics.report, self.favourable_label());
            text += "\n";
        } else if !self.privacy.is_private() {
            text += &self.groups_text();
        }
        text += &self.evidence().iter().map(|sentence| wrap(sentence)).collect::<String>();
        if let Some(told) = &self.one_shot {
            text += "\n";
            text += &wrap(&told.to_string());
        }
        if let Some(excess) = &self.excess {
            text += "\n";
            text += &wrap(&excess.to_string());
        }
        text += "\n";
        text += &self.settings_text();
        text += "\n";
        if !self.privacy.is_broken() {
            text += &self.privacy_text(explain, output);
        }
        if let Some(ledger) = &self.ledger {
            text += &wrap(&ledger.text(output));
        }
        text += "\n";
        for warning in &self.warnings {
            text += &wrap(&format!("{} {warning}", output.strong("Warning:")));
        }
        let run_dir: &Path = &self.run_dir;
        text + &format!("{} {}\n", output.strong("Run directory:"), run_dir.display())
    }

    fn privacy_text(&self, explain: bool, output: Output) -> String {
        let title = output.strong(&format!("Privacy ({}):", self.privacy.kind));
        if explain {
            return wrap(&format!("{title} {}", self.privacy.statement));
        }
        wrap(&format!("{title} {} More: --explain, or MODEL_CARD.md.", self.privacy.brief()))
    }

    fn settings_text(&self) -> String {
        let Self { data, features, parameters, silos, rows, method, model, notion, .. } = self;
        let trips = self.rounds_on_the_wire;
        let trips = trips.map_or_else(String::new, |trips| format!(", {trips} trips"));
        format!(
            "{data}: {} training rows in {silos} silo(s) ({}), {} test rows\n{features} features, \
             favourable label {}\n{}{method}, {model} ({parameters} parameters), {notion}, lambda {}, \
             {} rounds{trips}, seed {}, {:.2} s\n",
            rows.train,
            self.centralisation,
            rows.test,
            self.favourable,
            left_out(rows.dropped, &rows.dropped_for),
            self.lambda,
            self.rounds,
            self.seed,
            self.wall_seconds,
        )
    }

    /// The place of the label people want to get.
    pub(crate) fn favourable_label(&self) -> usize {
        self.labels.iter().position(|label| *label == self.favourable).unwrap_or(0)
    }

    fn overall_text(&self) -> String {
        let (test, baseline) = (&self.test, &self.baseline);
        if let Some(metrics) = &self.metrics {
            return noisy::gaps_table(&metrics.report);
        }
        let intervals = test.intervals.as_ref();
        let mut rows = Rows::new(&["test", "this model", "95 % interval", "unconstrained"]);
        let mut line = |name: &str, of: fn(&Report) -> Option<f64>, interval: Option<[f64; 2]>| {
            let interval = interval.map_or_else(String::new, |[low, high]| {
                format!("{:.2} to {:.2} %", 100.0 * low, 100.0 * high)
            });
            rows.push(vec![name.to_owned(), percent(of(test)), interval, percent(of(baseline))]);
        };
        line("error", |r| Some(r.error), intervals.and_then(|i| i.error));
        line(
            "demographic-parity gap",
            |r| r.demographic_parity,
            intervals.and_then(|i| i.demographic_parity),
        );
        line("equalized-odds gap", |r| r.equalized_odds, intervals.and_then(|i| i.equalized_odds));
        line(
            "equal-opportunity gap",
            |r| r.equal_opportunity,
            intervals.and_then(|i| i.equal_opportunity),
        );
        line(
            "accuracy-parity gap",
            |r| r.accuracy_parity,
            intervals.and_then(|i| i.accuracy_parity),
        );
        rows.push(vec![
            "chi-square".to_owned(),
            number(test.chi_square),
            String::new(),
            number(baseline.chi_square),
        ]);
        rows.push(vec!["AUC".to_owned(), number(test.auc), String::new(), number(baseline.auc)]);
        rows.render()
    }

    /// Per group, with the unconstrained model's number after the slash.
    fn groups_text(&self) -> String {
        let chosen = format!("gets {}", self.favourable);
        let header = ["group", "records", "error", "parity gap", "odds gap", &chosen];
        let mut rows = Rows::new(&header);
        let label = self.favourable_label();
        for (ours, theirs) in self.test.groups.iter().zip(&self.baseline.groups) {
            let both = |a: Option<f64>, b: Option<f64>| format!("{} / {}", percent(a), percent(b));
            rows.push(vec![
                ours.name.clone(),
                ours.records.to_string(),
                both(ours.error, theirs.error),
                both(ours.demographic_parity, theirs.demographic_parity),
                both(ours.equalized_odds, theirs.equalized_odds),
                both(ours.labels[label].selection_rate, theirs.labels[label].selection_rate),
            ]);
        }
        rows.render() + "(this model / unconstrained)\n"
    }
}
