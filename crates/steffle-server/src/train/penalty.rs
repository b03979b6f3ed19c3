//! The penalty of imputed tables: its value, its gradient and most of its curvature.
//!
//! With memberships `shat_ir` in place of `s` there is no more noise to fight: the penalty is a
//! function of theta, `max_W (1/n_in) sum_i psi_i` with `[s_i = r]` replaced by `shat_ir`, whose
//! maximiser W* has a closed form. By the envelope theorem its gradient is that of psi at W*:
//! `J'(2 sum_r shat_ir C_r - q)`, a combination of the gradients of the tables' entries. Memberships
//! may lie outside `[0, 1]` (randomised response); what is clamped is `P(r|u)`, and because psi is
//! quadratic and separable in W the clamped W* is the maximiser over the box, so that value and
//! gradient still belong together.

use steffle_model::fairness::{ClassWeights, closed_form, divergence};
use steffle_model::scores::Objective as _;

use crate::game::OutputScores;

/// Classes that are rarer count as if they were not, where noise is weighed.
const RAREST: f64 = 0.005;

/// What the penalty is made of beside the tables.
#[derive(Debug, Clone)]
pub(super) struct Penalty {
    pub(super) objective: OutputScores,
    /// Of a membership in a class the record is not in: 0 where memberships are exact.
    pub(super) variance: f64,
    /// Records of every cell.
    pub(super) counts: Vec<f64>,
}

/// The penalty at some tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Penalised {
    /// `sum_c w_c D_c` in its min-max form.
    pub(super) value: f64,
    /// `sum_c w_c D_c` of the clamped tables.
    pub(super) chi_square: f64,
    /// The gradient, in gradients of the tables' entries `[cell][class][column]` but the first column.
    pub(super) gradient: Vec<f64>,
    /// `sum weight v v'` is the curvature where the tables are independent, and close to it elsewhere.
    pub(super) terms: Vec<Term>,
}

/// A term of the curvature: `v` in gradients of the entries of one cell's table.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) weight: f64,
    /// The first of the entries.
    pub(super) first: usize,
    pub(super) vector: Vec<f64>,
}

impl Penalty {
    /// From the tables' sums, `[cell][class][label]`.
    pub(super) fn at(&self, tables: &[f64]) -> Penalised {
        let size = self.objective.classes * self.objective.columns();
        // Without a record in a cell there is no penalty; dividing by 1 leaves it 0.
        let inside = self.counts.iter().sum::<f64>().max(1.0);
        let mut total = Penalised::default();
        for (table, &count) in tables.chunks_exact(size.max(1)).zip(&self.counts) {
            self.add(table, count, inside, &mut total);
        }
        total
    }

    fn add(&self, table: &[f64], count: f64, inside: f64, total: &mut Penalised) {
        let (classes, labels) = (self.objective.classes, self.objective.columns());
        let columns: Vec<f64> =
            (0..labels).map(|u| table.iter().skip(u).step_by(labels).sum()).collect();
        // The scores of a record sum to 1, so the rows sum to the class counts.
        let counts: Vec<f64> = table.chunks_exact(labels).map(|row| row.iter().sum()).collect();
        let weights = ClassWeights::from_counts(&counts, self.floor(count));
        let dual = closed_form(table, &columns, count, &weights);
        let (combinations, quadratic) = (dual.combinations(&weights), dual.quadratic());
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let psi = 2.0 * dot(&combinations, table) - dot(&quadratic, &columns) - count;
        let clamped: Vec<f64> = table.iter().map(|mass| mass.max(0.0)).collect();
        total.value += psi / inside;
        total.chi_square += count / inside * divergence(&clamped, labels);
        self.add_terms(&columns, count, inside, &weights, total);
        // `2 C_ru - q_u` of every entry; the first column's gradients are minus the others'.
        for row in combinations.chunks_exact(labels).take(classes) {
            let entry = |u: usize| (2.0 * row[u] - quadratic[u]) / inside;
            total.gradient.extend((1..labels).map(|u| entry(u) - entry(0)));
        }
    }

    /// `D_c = sum_ru e_ru^2 / (p_r P_u)` with `e_ru = P(u,r) - P(u) p_r`, so its curvature is about
    /// `2 sum_ru grad e_ru grad e_ru' / (p_r P_u)`: Gauss and Newton's, exact where all `e` are 0.
    fn add_terms(
        &self,
        columns: &[f64],
        count: f64,
        inside: f64,
        weights: &ClassWeights,
        total: &mut Penalised,
    ) {
        let (classes, labels) = (self.objective.classes, self.objective.columns());
        let (first, width) = (total.gradient.len(), labels.saturating_sub(1));
        if count == 0.0 {
            return;
        }
        let share = |u: usize| (columns[u] / count).max(1e-6);
        let classes_of = |r: usize| weights.get()[r].max(1e-6);
        // Of two classes or labels the second says it all, with the weight of both.
        let skip = |of: usize| usize::from(of == 2);
        for r in skip(classes)..classes {
            let class = if classes == 2 {
                1.0 / classes_of(0) + 1.0 / classes_of(1)
            } else {
                1.0 / classes_of(r)
            };
            for u in skip(labels)..labels {
                let label =
                    if labels == 2 { 1.0 / share(0) + 1.0 / share(1) } else { 1.0 / share(u) };
                let mut vector = vec![0.0; classes * width];
                for other in 0..classes {
                    let own = (f64::from(u8::from(other == r)) - weights.get()[r]) / count;
                    let entries = &mut vector[other * width..][..width];
                    match u {
                        0 => entries.iter_mut().for_each(|entry| *entry = -own),
                        _ => entries[u - 1] = own,
                    }
                }
                let weight = 2.0 * count / inside * class * label;
                total.terms.push(Term { weight, first, vector });
            }
        }
    }

    /// The divergence that tables show over what the memberships' noise alone would show of it; `None`
    /// where they have none. A membership's noise meets an output that spreads by at most `P(u) (1 - P(u))`.
    pub(super) fn evidence(&self, tables: &[f64]) -> Option<f64> {
        let labels = self.objective.columns();
        let (mut told, mut noise) = (0.0, 0.0);
        for (table, &count) in
            tables.chunks_exact((self.objective.classes * labels).max(1)).zip(&self.counts)
        {
            if count == 0.0 {
                continue;
            }
            let share =
                |u: usize| table.iter().skip(u).step_by(labels).sum::<f64>().max(0.0) / count;
            let columns: Vec<f64> = (0..labels).map(share).collect();
            for row in table.chunks_exact(labels) {
                let class = row.iter().sum::<f64>() / count;
                for (mass, column) in row.iter().zip(&columns) {
                    let over = 1.0 / (class.max(RAREST) * column.max(1e-6));
                    told += count * over * (mass / count - class * column).powi(2);
                    noise += over * self.variance * column * (1.0 - column).max(0.0);
                }
            }
        }
        (noise > 0.0).then(|| told / noise)
    }

    /// The smallest class weight of a cell: a count within its own noise says nothing.
    pub(super) fn floor(&self, count: f64) -> f64 {
        if self.variance == 0.0 || count == 0.0 {
            return 0.0;
        }
        let noise = 3.0 * (self.variance / count).sqrt();
        noise.max(0.01).min(1.0 / self.objective.classes as f64)
    }
}
