//! What is reported, as plain data that comes back from JSON as it went in.

use serde::{Deserialize, Serialize};

/// Everything one command produced.
///
/// Pages and figures are made from it alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// Heading of the report.
    pub title: String,
    /// The command line that makes this comparison again.
    pub command: String,
    /// What computed it, each with its version: `steffle 0.1.0`.
    pub versions: Vec<String>,
    /// When it was computed, for readers.
    pub date: String,
    /// On what it was computed, for readers.
    pub machine: String,
    /// Every mean and standard error is over these.
    pub seeds: Vec<u64>,
    /// What a reader has to know, a paragraph each: what is absent, and why.
    pub notes: Vec<String>,
    /// Figures, in reading order. Panels of one figure stand together.
    pub panels: Vec<Panel>,
    /// Numbers that have no axes, such as average reductions.
    pub tables: Vec<Table>,
}

/// One pair of axes with its curves.
///
/// A figure has one or several side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// File name and anchor: lower-case letters, digits, `-` and `.`, as in `figure-3-epsilon-1-h-0`.
    pub id: String,
    /// The figure it belongs to: `figure-3`.
    pub figure: String,
    /// What is shown, in a line.
    pub title: String,
    /// Data set: `adult`.
    pub data: String,
    /// Notion of fairness: `demographic parity`.
    pub notion: String,
    /// The epsilon of the panel, where it has a single one.
    pub epsilon: Option<f64>,
    /// Level h of Algorithm 3, where it is not on an axis.
    pub heterogeneity: Option<f64>,
    /// Number of silos, where it is not on an axis.
    pub silos: Option<usize>,
    /// What the axes mean.
    pub kind: Kind,
    /// Words at the horizontal axis, with the unit.
    pub x_label: String,
    /// Words at the vertical axis, with the unit.
    pub y_label: String,
    /// Where the horizontal axis ends, if some point would squeeze all others together. Points beyond
    /// are counted in the label of their curve.
    pub x_limit: Option<f64>,
    /// The same for the vertical axis.
    pub y_limit: Option<f64>,
    /// What was computed.
    pub curves: Vec<Curve>,
    /// What others printed; drawn apart and named so.
    pub published: Vec<Published>,
    /// What every method reaches at equal error; empty where that has no meaning.
    pub equal_error: Vec<EqualError>,
    /// What a reader cannot see in the picture: seeds, ranges, what error bars are.
    pub caption: String,
}

/// What the axes of a panel mean.
///
/// It decides what is drawn, and how the axes are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// x is the test error in percent, y the violation in percentage points, a point per lambda.
    TradeOff,
    /// y against a quantity that was varied.
    Line {
        /// Powers of ten at equal distances on the horizontal axis.
        x_log: bool,
        /// The same on the vertical axis.
        y_log: bool,
    },
}

/// One method at one budget.
///
/// Its points are joined in their order, one per weight of fairness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The method as typed: `one-shot`.
    pub method: String,
    /// How it looks, the same in every panel; a spare look for those that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// What stands next to the curve; a few words.
    pub label: String,
    /// The epsilon that was asked for; none for a method without privacy.
    pub epsilon: Option<f64>,
    /// What is really promised.
    pub privacy: Privacy,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
    /// A straight line in the axes of the panel, fitted to the points.
    pub fit: Option<Fit>,
}

/// The look of a method's curves.
///
/// A method has the same in all figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// `blue`, `vermillion`, `green`, `purple`, `black`, `orange`, `sky` or `grey`.
    pub colour: String,
    /// `circle`, `square`, `up`, `down`, `diamond`, `star`, `plus` or `cross`.
    pub marker: String,
}

/// What a curve promises, to whom.
///
/// It stands beside the curve's name.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Privacy {
    /// By our accountants; none for a method that is not private. The largest, where it differs
    /// between the points of a curve.
    pub honest_epsilon: Option<f64>,
    /// The smallest, where it differs between the points of a curve.
    #[serde(default)]
    pub least_honest_epsilon: Option<f64>,
    /// By its publication, where there is such a claim.
    pub claimed_epsilon: Option<f64>,
    /// Of (epsilon, delta).
    pub delta: Option<f64>,
    /// What is protected, in words: `the sensitive attribute of a record`.
    pub protects: String,
    /// Who must be trusted, in words: `the silo`.
    pub trusted: String,
    /// Whether the epsilon that was asked for is kept; true also where none was.
    pub holds: bool,
}

/// A mean over seeds.
///
/// With the spread of the seeds around it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Point {
    /// Mean.
    pub x: f64,
    /// Standard error over seeds; none for a single seed or a quantity that was set.
    pub x_error: Option<f64>,
    /// Mean.
    pub y: f64,
    /// Standard error over seeds; none for a single seed.
    pub y_error: Option<f64>,
    /// The fairness weight of this point, where it has one.
    pub lambda: Option<f64>,
    /// How many seeds are in the mean.
    pub seeds: usize,
    /// What this point costs, where it differs between the points of a curve.
    #[serde(default)]
    pub honest_epsilon: Option<f64>,
}

/// The slope of a curve beside the slope of a theorem.
///
/// Both are drawn, so that a reader sees the difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Least squares in the axes of the panel: on two logarithmic axes, an exponent.
    pub slope: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// What the theorem says; drawn as a reference line through the middle of the points.
    pub predicted: Option<f64>,
}

/// A point that others printed.
///
/// It is drawn with a mark of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What stands next to the point.
    pub label: String,
    /// Where it is printed.
    pub source: String,
    /// As claimed there.
    pub epsilon: Option<f64>,
    /// In the units of the panel.
    pub x: f64,
    /// In the units of the panel.
    pub y: f64,
}

/// One row of a table of violation at equal error.
///
/// Every method is given the same error, and its gap is read off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualError {
    /// The method as typed.
    pub method: String,
    /// The method for readers.
    pub label: String,
    /// The epsilon that was asked for.
    pub epsilon: Option<f64>,
    /// One per column; all rows of a panel have the same excesses in one order.
    pub at: Vec<Reached>,
}

/// What a method reaches at one excess error.
///
/// Beyond the end of a curve there is nothing to read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// Test error above that of the unconstrained model, in percentage points.
    pub excess: f64,
    /// In percentage points; none where no point of the method has so little error.
    pub violation: Option<f64>,
    /// Over seeds; none for a single seed.
    pub standard_error: Option<f64>,
}

/// A table of text.
///
/// The page shows it, and it is read without a script.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Table {
    /// What it shows, in a line.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Cells, as many per row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// How to read it.
    pub caption: String,
}
