//! The test: which world was it, by the likelihood ratio of everything that was said.
//!
//! What an attacker would have to know of the noise is measured in runs of their own, whose world
//! is known; the mechanism is never asked, and what a reply says of its own noise is not read.

use steffle_model::linear::{Cholesky, Symmetric};

use crate::{AuditError, Compared, Seen, World};

/// A test, fitted to runs whose world was known. Which numbers it came out with can weaken an audit
/// but never make it wrong: the runs that are judged are others.
pub(crate) enum Attack {
    /// Of messages of numbers.
    Linear(Linear),
    /// The logarithm of how much likelier every answer is in world one.
    Answers(Vec<f64>),
}

/// The log-likelihood ratio of normal messages with measured covariances.
///
/// Every message m is first reduced to one number, `u = D' S^-1 (said - middle)`, where D is what
/// the classes change and S the message's own covariance; then the numbers of all messages are
/// weighed together by the inverse of their joint covariance, in which noise shows that was used
/// twice. For independent Gaussian messages that is exactly the log-likelihood ratio.
pub(crate) struct Linear {
    /// The spread of each message; none where nothing moves and nothing spreads.
    spreads: Vec<Option<Cholesky>>,
    /// How far the reduced numbers are off their middle, in both worlds alike.
    offsets: Vec<f64>,
    joint: Cholesky,
}

/// A message, reduced: how far it was from the middle, and how far apart the worlds are.
struct Reduced {
    at: Vec<f64>,
    apart: Vec<f64>,
}

/// Added to variances, relative to themselves: rows of a table may tell each other exactly.
const RIDGE: f64 = 1e-9;

/// Added to variances, relative to what the classes change: so that a message without noise counts
/// for very much and not for infinitely much.
const FLOOR: f64 = 1e-12;

impl Attack {
    /// Fits the test to runs of both worlds.
    pub(crate) fn fit(runs: [&[Seen]; 2]) -> Result<Self, AuditError> {
        match runs[0].first() {
            Some(Seen::Numbers(first)) => Linear::fit(runs, first.len()).map(Self::Linear),
            Some(Seen::Answer(_)) => Ok(Self::Answers(answers(runs))),
            None => Err(AuditError::Shape("there are none")),
        }
    }

    /// Above 0 where world one is the likelier one.
    pub(crate) fn score(&self, seen: &Seen) -> Result<f64, AuditError> {
        match (self, seen) {
            (Self::Linear(linear), Seen::Numbers(messages)) => linear.score(messages),
            (Self::Answers(ratios), Seen::Answer(answer)) => {
                Ok(ratios.get(usize::from(*answer)).copied().unwrap_or(0.0))
            }
            _ => Err(AuditError::Shape("their kind")),
        }
    }
}

impl Linear {
    fn fit(runs: [&[Seen]; 2], messages: usize) -> Result<Self, AuditError> {
        let runs: Vec<(World, &[Compared])> = World::ALL
            .into_iter()
            .flat_map(|world| runs[world.index()].iter().map(move |seen| (world, seen)))
            .map(|(world, seen)| match seen {
                Seen::Numbers(said) if said.len() == messages => Ok((world, &said[..])),
                _ => Err(AuditError::Shape("their number")),
            })
            .collect::<Result<_, _>>()?;
        let spread = |at: usize| spread(runs.iter().map(|&(world, said)| (world, &said[at])));
        let spreads = (0..messages).map(spread).collect::<Result<Vec<_>, AuditError>>()?;
        let mut offsets = vec![0.0; messages];
        let reduced: Vec<(World, Reduced)> =
            runs.iter().map(|&(world, said)| (world, reduce(&spreads, said))).collect();
        let count = reduced.len() as f64;
        let residual = |world: World, own: &Reduced, at: usize| {
            let half = if world == World::One { 0.5 } else { -0.5 };
            own.at[at] - half * own.apart[at]
        };
        for (at, offset) in offsets.iter_mut().enumerate() {
            *offset =
                reduced.iter().map(|(world, own)| residual(*world, own, at)).sum::<f64>() / count;
        }
        let mut joint = Symmetric::from_lower(messages, |i, j| {
            let product = |(world, own): &(World, Reduced)| {
                (residual(*world, own, i) - offsets[i]) * (residual(*world, own, j) - offsets[j])
            };
            reduced.iter().map(product).sum::<f64>() / count
        });
        for at in 0..messages {
            let apart = reduced.iter().map(|(_, own)| own.apart[at].powi(2)).sum::<f64>() / count;
            let own = joint.at(at, at);
            // A message that neither moves nor spreads gets a variance of 1 and a weight of 0.
            let idle = if own + apart > 0.0 { 0.0 } else { 1.0 };
            joint.set(at, at, own * (1.0 + RIDGE) + FLOOR * apart + idle);
        }
        let joint = Cholesky::new(joint).map_err(|_| AuditError::Spread)?;
        Ok(Self { spreads, offsets, joint })
    }

    fn score(&self, messages: &[Compared]) -> Result<f64, AuditError> {
        if messages.len() != self.spreads.len() {
            return Err(AuditError::Shape("their number"));
        }
        let Reduced { at, mut apart } = reduce(&self.spreads, messages);
        self.joint.solve(&mut apart);
        let centred = at.iter().zip(&self.offsets).map(|(at, offset)| at - offset);
        let score: f64 = centred.zip(&apart).map(|(at, weight)| at * weight).sum();
        if score.is_finite() { Ok(score) } else { Err(AuditError::Spread) }
    }
}

/// The covariance of a message around what it would have said, factored; none where it has no
/// spread and the worlds do not differ.
fn spread<'a>(
    messages: impl Iterator<Item = (World, &'a Compared)> + Clone,
) -> Result<Option<Cholesky>, AuditError> {
    let size = messages.clone().next().map_or(0, |(_, message)| message.said.len());
    let fits = |message: &Compared| {
        message.said.len() == size && message.expected.iter().all(|own| own.len() == size)
    };
    if !messages.clone().all(|(_, message)| fits(message)) {
        return Err(AuditError::Shape("their size"));
    }
    let count = messages.clone().count() as f64;
    let noise = |(world, message): (World, &'a Compared)| {
        let expected = &message.expected[world.index()];
        message.said.iter().zip(expected).map(|(said, own)| said - own).collect::<Vec<f64>>()
    };
    let mut mean = vec![0.0; size];
    for noise in messages.clone().map(noise) {
        mean.iter_mut().zip(noise).for_each(|(mean, own)| *mean += own / count);
    }
    let mut lower = vec![0.0; size * size];
    let mut apart = 0.0;
    for (world, message) in messages {
        let own = noise((world, message));
        for i in 0..size {
            for j in 0..=i {
                lower[i * size + j] += (own[i] - mean[i]) * (own[j] - mean[j]) / count;
            }
        }
        let [zero, one] = &*message.expected;
        apart += zero.iter().zip(one).map(|(zero, one)| (one - zero).powi(2)).sum::<f64>() / count;
    }
    let trace: f64 = (0..size).map(|i| lower[i * size + i]).sum();
    let added = RIDGE * trace / size.max(1) as f64 + FLOOR * apart;
    if added <= 0.0 {
        return Ok(None);
    }
    let mut matrix = Symmetric::from_lower(size, |i, j| lower[i * size + j]);
    matrix.add_diagonal(added);
    Cholesky::new(matrix).map(Some).map_err(|_| AuditError::Spread)
}

fn reduce(spreads: &[Option<Cholesky>], messages: &[Compared]) -> Reduced {
    let (mut at, mut apart) = (Vec::new(), Vec::new());
    for (spread, message) in spreads.iter().zip(messages) {
        let [zero, one] = &*message.expected;
        let moved: Vec<f64> = zero.iter().zip(one).map(|(zero, one)| one - zero).collect();
        let mut weights = moved.clone();
        match spread {
            Some(spread) if spread.size() == weights.len() => spread.solve(&mut weights),
            _ => weights.fill(0.0),
        }
        let middle = zero.iter().zip(one).map(|(zero, one)| zero.midpoint(*one));
        let off = message.said.iter().zip(middle).map(|(said, middle)| said - middle);
        at.push(off.zip(&weights).map(|(off, weight)| off * weight).sum());
        apart.push(moved.iter().zip(&weights).map(|(moved, weight)| moved * weight).sum());
    }
    Reduced { at, apart }
}

/// How much likelier every answer was in world one, with half a run added to each count.
fn answers(runs: [&[Seen]; 2]) -> Vec<f64> {
    let mut counts: Vec<[f64; 2]> = Vec::new();
    for world in World::ALL {
        for seen in runs[world.index()] {
            let Seen::Answer(answer) = *seen else { continue };
            let at = usize::from(answer);
            if counts.len() <= at {
                counts.resize(at + 1, [0.5; 2]);
            }
            counts[at][world.index()] += 1.0;
        }
    }
    counts.iter().map(|[zero, one]| (one / zero).ln()).collect()
}
