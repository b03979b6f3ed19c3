//! Which questions a site answers under masks: a range of their numbers, whatever the records are.
//!
//! With features of at most `2^12`, fewer than `2^8` columns of numbers and `2^24` records a site, no
//! number of an answer then reaches the end of the ring's share of a site (`2^60` for 127 sites).
//! Without ranges a server could scale a question until one site's answer leaves its range while
//! others do not, and tell by what happens then whose it was.

use steffle_model::linear::Symmetric;
use steffle_wire::{
    Agreed, Count, Decode, FitQuestion, Gap, ImputedQuestion, Kind, Loss, Metric, PassQuestion,
    Pool, Reader, Refused, Release, Round, TakeIn,
};

/// Parameters, of the start and the end of a step.
const MOST_THETA: f64 = 16_384.0;
/// What is multiplied by parameters' slopes, or by inverse Hessians.
const MOST_FACTOR: f64 = (1_u64 << 20) as f64;
/// Curvatures: no smaller than the ridge's.
const CURVATURES: std::ops::RangeInclusive<f64> = 1.0 / (1_u64 << 20) as f64..=(1_u64 << 40) as f64;

/// Means of products of two features, each at most `2^12` or the square of such a number.
const MOST_PRODUCT: f64 = (1_u64 << 48) as f64;
/// What rows are cut to, in units in which features are whitened.
const LENGTHS: std::ops::RangeInclusive<f64> = 1.0 / (1_u64 << 40) as f64..=(1_u64 << 60) as f64;

/// Refuses a question out of range. What cannot be read is refused by who reads it.
pub(super) fn within(kind: Kind, payload: &[u8]) -> Result<(), Refused> {
    let mut reader = Reader::new(payload);
    let inside = match kind {
        Kind::Loss => Loss::decode(&mut reader).map_or(true, |asked| theta(&asked.theta)),
        Kind::Count => Count::decode(&mut reader).map_or(true, |asked| theta(&asked.theta)),
        Kind::Imputed => {
            ImputedQuestion::decode(&mut reader).map_or(true, |asked| theta(&asked.theta))
        }
        Kind::Pass => PassQuestion::decode(&mut reader).map_or(true, |asked| theta(asked.theta())),
        Kind::Gap => {
            Gap::decode(&mut reader).map_or(true, |asked| asked.thetas.iter().all(|own| theta(own)))
        }
        Kind::Fit => FitQuestion::decode(&mut reader).map_or(true, |asked| fit(&asked)),
        Kind::Round => Round::decode(&mut reader).map_or(true, |asked| {
            let cell = |cell: &steffle_wire::CellQuestion| {
                factors(&cell.combinations) && factors(&cell.quadratic)
            };
            theta(&asked.question.theta) && asked.question.cells.iter().all(cell)
        }),
        Kind::Pool => Pool::decode(&mut reader).map_or(true, |asked| pool(&asked)),
        Kind::Release => Release::decode(&mut reader).map_or(true, |asked| match asked {
            Release::Features { agreed: Some(Agreed { gram, cap }), .. } => {
                matrix(&gram) && LENGTHS.contains(&cap)
            }
            Release::Features { agreed: None, .. } | Release::Classes { .. } => true,
        }),
        Kind::TakeIn => TakeIn::decode(&mut reader).map_or(true, |asked| match asked {
            TakeIn::Rule(rule) => {
                factors(&rule.intercepts) && rule.weights.iter().all(|weights| factors(weights))
            }
            TakeIn::Cap { length, .. } => LENGTHS.contains(&length),
            TakeIn::Classes { .. } | TakeIn::Sums(_) => true,
        }),
        _ => true,
    };
    if inside {
        return Ok(());
    }
    let text = format!(
        "a question out of range: under masks parameters are at most {MOST_THETA}, factors at most \
         {MOST_FACTOR}"
    );
    Err(Refused::new(Refused::RANGE, text))
}

fn pool(asked: &Pool) -> bool {
    match asked {
        Pool::Curvature { theta: at, .. } => theta(at),
        Pool::Cap { gram } => matrix(gram),
        Pool::Length { gram, .. } => gram.as_ref().is_none_or(matrix),
        Pool::Gram { .. } | Pool::Moments { .. } | Pool::Entries { .. } => true,
    }
}

/// Means of products of features, squares of numbers among them.
fn matrix(gram: &Symmetric) -> bool {
    let row = |at: usize| gram.row(at)[..=at].iter().all(|number| number.abs() <= MOST_PRODUCT);
    (0..gram.size()).all(row)
}

fn fit(asked: &FitQuestion) -> bool {
    match asked {
        FitQuestion::Own => true,
        FitQuestion::Curvature { theta: at } => theta(at),
        FitQuestion::Image { metric: Metric { theta: at, diagonal, .. }, vectors } => {
            theta(at)
                && diagonal.iter().all(|own| CURVATURES.contains(own))
                && vectors.iter().all(|vector| factors(vector))
        }
        FitQuestion::Step { theta: at, direction, before, .. } => {
            let end: Vec<f64> = at.iter().zip(direction).map(|(at, step)| at + step).collect();
            theta(at) && theta(&end) && before.iter().all(|vector| factors(vector))
        }
    }
}

fn theta(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.abs() <= MOST_THETA)
}

fn factors(numbers: &[f64]) -> bool {
    numbers.iter().all(|number| number.abs() <= MOST_FACTOR)
}

#[cfg(test)]
mod tests;
