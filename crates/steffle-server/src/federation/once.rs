//! A release over all nodes: what each is asked for, and what is made of pooled sums.

use steffle_model::decode::{ClassSums, Moments, ShareScale, linear};
use steffle_model::linear::Whitening;
use steffle_privacy::NoiseShares;
use steffle_privacy::discrete::SMALLEST_SCALE;
use steffle_privacy::ledger::Claim;
use steffle_privacy::ledger::NoiseKind;
use steffle_wire::ClassRelease;
use steffle_wire::{
    Agreed, FeatureSums, Opening, Pool, PooledSums, Release, TakeIn, Terms, Transport,
};

use super::{Federation, FederationError};
use crate::train::OneShotTerms;

/// What silos share for a one-shot release beside their noisy sums.
///
/// Sharing helps small silos, and shows more of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Nothing: every silo has its own Gram matrix, cap and decode.
    Local,
    /// Gram matrix, cap, moments and messages.
    Pooled {
        /// The job declares that sums are added up under secure aggregation, so that no silo's
        /// matrix is seen by itself.
        secure_aggregation: bool,
        /// How all silos share one noise; `None` where each adds all of its own.
        shares: Option<NoiseShares>,
    },
}

/// What a release left with the server. With [`Pooling::Local`] all of it stays in the silos.
#[derive(Debug)]
pub struct OneShot {
    kind: Option<NoiseKind>,
    pooling: Pooling,
    pooled: Option<(ClassSums, Moments)>,
}

impl OneShot {
    /// Where the noise came from; `None` is none at all.
    pub fn noise_kind(&self) -> Option<NoiseKind> {
        self.kind
    }

    /// What was pooled.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// The pooled message and moments, where there are any.
    pub(super) fn pooled(&self) -> Option<&(ClassSums, Moments)> {
        self.pooled.as_ref()
    }
}

impl<T: Transport> Federation<T> {
    /// Has every store release the class of each record, once, and every silo take in the
    /// memberships of its own. Says where the noise came from; `None` is none at all. Opens a run of
    /// its own, and closes it.
    pub fn impute(&mut self, release: ClassRelease) -> Result<Option<NoiseKind>, FederationError> {
        let epsilon = match release {
            ClassRelease::Revealed => {
                self.open_plainly()?;
                None
            }
            ClassRelease::Randomised(response) => {
                let offer = self.offer(Claim::Pure, response.epsilon(), 0.0, 1)?;
                self.open(offer, Opening::plain)?;
                Some(response.epsilon())
            }
        };
        let request = Release::Classes { epsilon };
        if self.holders.is_empty() {
            self.trips.ask(self.silos.clone(), 0, &request)?;
        } else {
            self.trips.ask(self.holders.clone(), 0, &request)?;
            self.trips.ask(self.silos.clone(), 0, &TakeIn::Classes { epsilon })?;
        }
        self.close()?;
        Ok(epsilon.map(|_| self.agreement.noise))
    }

    /// Has every store release the sums of its records' features by class, once, under `terms` or,
    /// where there are none, as they are; every silo then takes in the memberships that its release
    /// gives. Opens a run of its own, and closes it. Refuses features that cannot be whitened,
    /// pooling that would show a record, and what a store does not accept.
    pub fn release_once(
        &mut self,
        pooling: Pooling,
        terms: Option<&OneShotTerms>,
    ) -> Result<OneShot, FederationError> {
        if pooling.shares().is_some() && self.trips.may_drop() {
            return Err(FederationError::MissingShares);
        }
        match terms {
            None => self.open_plainly()?,
            Some(terms) => {
                let (epsilon, delta) = (terms.epsilon().value(), terms.delta().value());
                let claim = pooling.shares().map_or(Claim::Gaussian, Claim::Shared);
                let offer = self.offer(claim, epsilon, delta, 1)?;
                let terms = Terms::Exact(terms.share());
                self.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
            }
        }
        let agreed = match pooling {
            Pooling::Local => None,
            Pooling::Pooled { secure_aggregation, .. } => Some(self.agree(secure_aggregation)?),
        };
        let shared = match (pooling.shares(), terms, &agreed) {
            (Some(shares), Some(terms), Some(agreed)) => {
                Some(self.common_noise(shares, terms, agreed)?)
            }
            _ => None,
        };
        let share = shared.as_ref().map(|shared| shared.scale);
        let request = Release::Features { agreed, share };
        self.trips.ask(self.silos.clone(), 0, &request)?;
        let Release::Features { agreed, .. } = request else { return Err(FederationError::Empty) };
        // What holders elsewhere released goes on to the silos that it is about.
        let sums = if self.holders.is_empty() { None } else { Some(self.held_sums()?) };
        let pooled = match (agreed, sums) {
            (None, None) => None,
            (None, Some(sums)) => {
                let about = |place: usize| TakeIn::Sums(sums[place].clone());
                self.trips.ask_each(self.silos.clone(), 0, about)?;
                None
            }
            (Some(agreed), sums) => {
                Some(self.decode_pooled(&agreed, sums.as_deref(), shared.as_ref())?)
            }
        };
        self.close()?;
        Ok(OneShot { kind: terms.map(|_| self.agreement.noise), pooling, pooled })
    }

    /// The Gram matrix and cap of all silos together.
    fn agree(&mut self, secure_aggregation: bool) -> Result<Agreed, FederationError> {
        let without = self.rare(true)?;
        let pooled = self.pool(&Pool::Gram { secure_aggregation, without })?;
        let mut gram = pooled.matrix;
        gram.scale(1.0 / number(&pooled.numbers, 0)?.max(1.0));
        let request = Pool::Cap { gram };
        let pooled = self.pool(&request)?;
        let Pool::Cap { gram } = request else { return Err(FederationError::Empty) };
        let cap = number(&pooled.numbers, 1)? / number(&pooled.numbers, 0)?.max(1.0);
        Ok(Agreed { cap, gram })
    }

    /// Under masks, the columns that fewer than five records of all silos have: a matrix of products would
    /// show these records, so nobody has them there. Without masks every silo looks for itself.
    pub(super) fn rare(&mut self, released: bool) -> Result<Vec<u32>, FederationError> {
        if self.trips.roster.masked.is_none() {
            return Ok(Vec::new());
        }
        Ok(self.pool(&Pool::Entries { released })?.rare())
    }

    /// What all holders together released about each silo.
    fn held_sums(&mut self) -> Result<Vec<FeatureSums>, FederationError> {
        let request = Release::Features { agreed: None, share: None };
        let totals = self.trips.ask_sum(self.holders.clone(), 0, &request)?.silos;
        if totals.len() == self.silos.len() {
            Ok(totals)
        } else {
            Err(FederationError::Incomplete("private"))
        }
    }

    /// Silos send moments and messages; one linear rule goes back.
    fn decode_pooled(
        &mut self,
        agreed: &Agreed,
        sums: Option<&[FeatureSums]>,
        shared: Option<&Shared>,
    ) -> Result<(ClassSums, Moments), FederationError> {
        let about = |place: usize| Pool::Moments { sums: sums.map(|sums| sums[place].clone()) };
        let mut pooled = self.trips.ask_sum_each(self.silos.clone(), 0, about)?;
        let mut normal = agreed.gram.clone();
        normal.add_diagonal(steffle_model::decode::GAMMA);
        let sums = pooled.vectors.split_off(1.min(pooled.vectors.len()));
        let total = pooled.vectors.pop().ok_or(FederationError::Incomplete("pooled"))?;
        let message = match shared {
            None => ClassSums { sums, variance: number(&pooled.numbers, 1)? },
            Some(shared) => self.read_shares(shared, agreed, &pooled.shares, &total),
        };
        let sized = |sum: &Vec<f64>| sum.len() == total.len();
        if message.sums.is_empty() || !message.sums.iter().all(sized) {
            return Err(FederationError::Incomplete("pooled"));
        }
        let records = number(&pooled.numbers, 0)?;
        let moments = Moments { records, normal, total, gram: pooled.matrix };
        let rule = linear(&moments, &message)?;
        self.trips.ask(self.silos.clone(), 0, &TakeIn::Rule(rule))?;
        Ok((message, moments))
    }

    /// What every silo's share of one noise is drawn with.
    fn common_noise(
        &self,
        shares: NoiseShares,
        terms: &OneShotTerms,
        agreed: &Agreed,
    ) -> Result<Shared, FederationError> {
        let whitening = Whitening::new(agreed.gram.clone(), steffle_model::decode::GAMMA)?;
        let (classes, squared) = (self.agreement.scores.classes, terms.share().round);
        let least = (shares.honest(), SMALLEST_SCALE);
        let scale = ShareScale::new((&whitening, agreed.cap), classes, squared, least);
        let scale = scale.ok_or(FederationError::NoShare)?;
        Ok(Shared { shares, whitening, scale })
    }

    /// The message that all silos' shares add up to. The noise of all of them is in it; the claim
    /// counts on those of N - c.
    fn read_shares(
        &self,
        shared: &Shared,
        agreed: &Agreed,
        sums: &[Vec<i128>],
        total: &[f64],
    ) -> ClassSums {
        let Shared { shares, whitening, scale } = shared;
        let fits = |sum: &Vec<i128>| sum.len() == whitening.size();
        let sums = if sums.iter().all(fits) { sums } else { &[] };
        let classes = self.agreement.scores.classes;
        scale.read(sums, shares.sites(), (whitening, agreed.cap), total, classes)
    }

    pub(super) fn pool(&mut self, request: &Pool) -> Result<PooledSums, FederationError> {
        self.trips.ask_sum(self.silos.clone(), 0, request)
    }
}

/// One noise of which every silo has a share.
struct Shared {
    shares: NoiseShares,
    whitening: Whitening,
    scale: ShareScale,
}

impl Pooling {
    /// How silos share noise, where they do.
    pub fn shares(self) -> Option<NoiseShares> {
        match self {
            Self::Local => None,
            Self::Pooled { shares, .. } => shares,
        }
    }
}

pub(super) fn number(numbers: &[f64], at: usize) -> Result<f64, FederationError> {
    numbers.get(at).copied().ok_or(FederationError::Incomplete("pooled"))
}
