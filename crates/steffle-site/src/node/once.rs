//! Releasing once: what a store sends, and what the records make of it.

use std::sync::Arc;

use steffle_attributes::noise::NodeNoise;
use steffle_attributes::{
    Asking, AttributesDivision, ClassRelease, FeatureMessage, RandomisedResponse, Released, Request,
};
use steffle_attributes::{Capped, fits, mean_gram};
use steffle_model::decode::{ClassSums, Moments, ShareScale};
use steffle_model::linear::Features;
use steffle_privacy::Epsilon;
use steffle_wire::{
    Agreed, Answer, Classes, Done, Envelope, FeatureReply, FeatureRows, FeatureShare, FeatureSums,
    Kind, Pool, PooledSums, Refused, Release, Summed, TakeIn,
};

use super::party::Party;
use crate::division::Who;
use crate::division::records::{Imputed, RecordsDivision};
use crate::one_shot::decode::{decode, straight_memberships};
use crate::one_shot::{OneShotError, rare_column};

/// What a silo keeps of a release about its records.
#[derive(Default)]
pub(super) struct Once {
    /// The Gram matrix and cap that all silos agreed on, where they did.
    agreed: Option<Agreed>,
    /// What was released about its records, completed by what is public.
    pub(super) message: Option<ClassSums>,
    /// Its share of what all silos release together, where they share noise; until it is added up,
    /// once.
    share: Option<FeatureShare>,
    /// Whether what was released is a share.
    pub(super) shared: bool,
    /// The features that it is about: every gap that is estimated needs them again.
    features: Option<Arc<Ready>>,
    /// Whether the decode did not come to its end.
    pub(super) unfinished: bool,
}

/// Features as they are released, and public sums over them.
pub(super) struct Ready {
    pub(super) capped: Capped<'static>,
    pub(super) moments: Moments,
}

impl Party {
    /// The one release of a run.
    pub(super) fn release(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        release: Release,
    ) -> Result<Answer, Refused> {
        match release {
            Release::Classes { epsilon } => self.release_classes(envelope, payload, epsilon),
            Release::Features { agreed, share: None } => {
                self.release_features(envelope, payload, agreed)
            }
            Release::Features { agreed: Some(agreed), share: Some(scale) } => {
                self.release_share(envelope, payload, agreed, scale)
            }
            Release::Features { agreed: None, share: Some(_) } => {
                Err(Refused::state("shares of noise without a common matrix and cap"))
            }
        }
    }

    fn release_classes(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        epsilon: Option<f64>,
    ) -> Result<Answer, Refused> {
        let how = self.class_release(epsilon)?;
        let request = self.request(0, &[payload]);
        let mut source = self.source(0)?;
        if self.holds_attributes_alone() {
            let released = self.attributes()?.release_classes(how, request, &mut source)?;
            return Ok(self.answer_with(envelope, &mut nothing(), Some(&released)));
        }
        let classes = self.classes();
        let Some((records, attributes)) = self.both() else {
            return Err(Refused::state("this node has no attributes"));
        };
        let released = attributes.release_classes(how, request, &mut source)?.read()?;
        impute_classes(records, classes, &[released], how)?;
        Ok(self.answer_with(envelope, &mut nothing(), None::<&Done>))
    }

    fn release_features(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        agreed: Option<Agreed>,
    ) -> Result<Answer, Refused> {
        let mut source = self.source(0)?;
        if self.holds_attributes_alone() {
            let silos = self.silos();
            let (rows, said) = self.letters().take::<FeatureRows>(Kind::Release, 0, silos)?;
            let parts: Vec<&[u8]> = said.iter().map(Vec::as_slice).collect();
            let request = self.request(0, &parts);
            let released = answer_features(self.attributes()?, &rows, request, &mut source)?;
            let mut part = released.summed(self.join.holders as usize)?;
            return Ok(self.answer_with(envelope, &mut part, None::<&Done>));
        }
        let left_out = self.left_out();
        let parts: Vec<&[u8]> = [payload].into_iter().chain(left_out.as_deref()).collect();
        let request = self.request(0, &parts);
        let classes = self.classes();
        let local = agreed.is_none();
        self.once = Once { agreed, ..Once::default() };
        if self.both().is_none() {
            let agreed = self.once.agreed.clone();
            let rows = feature_rows(self.records()?, agreed);
            return Ok(self.answer_with(envelope, &mut nothing(), Some(&rows)));
        }
        // A silo's features, matrix and cap are its own, or agreed on.
        let ready = self.ready()?;
        let Some((records, attributes)) = self.both() else {
            return Err(Refused::state("this node has no attributes"));
        };
        let positions: Vec<u32> = (0..records.records().len() as u32).collect();
        let asking = (&ready.capped, Who::Positions(&positions));
        let released = attributes.release_features(&[asking], request, &mut source)?.read()?;
        let [sums] = &released.silos[..] else {
            return Err(Refused::state("a release about one silo has sums of others"));
        };
        let message = ready.capped.completed(sums, classes);
        if local {
            self.decode(&ready, &message)?;
        }
        self.once.message = Some(message);
        Ok(self.answer_with(envelope, &mut nothing(), None::<&Done>))
    }

    /// A share of a release over all silos. It stays here until it is added up with those of the
    /// others ([`Pool::Moments`]), and no record is decoded by it: alone it is less noisy than the claim.
    fn release_share(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        agreed: Agreed,
        scale: ShareScale,
    ) -> Result<Answer, Refused> {
        let mut source = self.source(0)?;
        let place =
            self.place(envelope).ok_or_else(|| Refused::state("no noise is shared here"))?;
        let left_out = self.left_out();
        let parts: Vec<&[u8]> = [payload, &place].into_iter().chain(left_out.as_deref()).collect();
        let request = self.request(0, &parts);
        self.once = Once { agreed: Some(agreed), ..Once::default() };
        let ready = self.ready()?;
        let Some((records, attributes)) = self.both() else {
            return Err(Refused::state("noise is shared by nodes with records and attributes"));
        };
        let positions: Vec<u32> = (0..records.records().len() as u32).collect();
        let asking = (&ready.capped, Who::Positions(&positions));
        let released = attributes.release_share(asking, scale, request, &mut source)?;
        (self.once.share, self.once.shared) = (Some(released.read()?), true);
        Ok(self.answer_with(envelope, &mut nothing(), None::<&Done>))
    }

    /// The features of a release, made when they are first needed.
    pub(super) fn ready(&mut self) -> Result<Arc<Ready>, Refused> {
        if let Some(ready) = &self.once.features {
            return Ok(ready.clone());
        }
        let agreed = self.once.agreed.clone();
        // What was agreed on is about the columns that were; a silo's own matrix about all.
        let without = self.without.clone().filter(|_| agreed.is_some()).unwrap_or_default();
        let division = self.records()?;
        let capped =
            cap(features(division, &without)?, division.records().units(), agreed.as_ref())?;
        let ready = Arc::new(Ready { moments: capped.moments(), capped });
        self.once.features = Some(ready.clone());
        Ok(ready)
    }

    /// Takes in the memberships that a silo's own message tells.
    fn decode(&mut self, ready: &Ready, message: &ClassSums) -> Result<(), Refused> {
        let classes = self.classes();
        let decoded = decode(&ready.capped, &ready.moments, message)?;
        self.once.unfinished = !decoded.converged;
        impute(self.records()?, classes, decoded.memberships)
    }

    /// What silos add up when they pool.
    pub(super) fn pool(&mut self, pool: Pool) -> Result<PooledSums, Refused> {
        let classes = self.classes();
        match pool {
            Pool::Entries { released } => {
                let rows = self.records()?;
                let entries = if released {
                    features(rows, &[])?.entries()
                } else {
                    Features::whole(rows.records().rows()).entries()
                };
                self.without = Some(Vec::new());
                Ok(PooledSums::of(entries.into_iter().map(|own| own as f64).collect()))
            }
            Pool::Curvature { theta, without } => self.curvature(&theta, &without),
            Pool::Length { gram, quantile } => self.shape_rounds(gram, quantile),
            Pool::Gram { secure_aggregation, without } => {
                self.counted()?;
                let hidden = secure_aggregation || self.pads.is_some();
                let features = features(self.records()?, &without)?;
                self.without = Some(without);
                if !hidden && let Some(rare) = rare_column(&features) {
                    return Err(rare.into());
                }
                let count = features.count() as f64;
                let mut gram = mean_gram(&features);
                gram.scale(count);
                Ok(PooledSums { matrix: gram, ..PooledSums::of(vec![count]) })
            }
            Pool::Cap { gram } => {
                let without = self.without.clone().unwrap_or_default();
                let division = self.records()?;
                let features = features(division, &without)?;
                let (count, units) = (features.count() as f64, division.records().units());
                let capped = Capped::with_gram(features, gram, units, |own| own)
                    .map_err(OneShotError::from)?;
                Ok(PooledSums::of(vec![count, count * capped.cap()]))
            }
            Pool::Moments { sums } => {
                self.is_pooled()?;
                let own = self.once.message.take();
                let ready = self.ready()?;
                if self.once.shared {
                    let share = self.once.share.take();
                    let share = share.ok_or_else(|| Refused::state("this share was added up"))?;
                    let Moments { records, total, gram, .. } = &ready.moments;
                    let (numbers, vectors) = (vec![*records], vec![total.clone()]);
                    let (matrix, shares) = (gram.clone(), share.sums);
                    return Ok(PooledSums { numbers, vectors, matrix, shares });
                }
                let message = match (sums, own) {
                    (Some(sums), _) => self::completed(&ready.capped, &sums, classes)?,
                    (None, Some(message)) => message,
                    (None, None) => return Err(Refused::state("nothing was released")),
                };
                let Moments { records, total, gram, .. } = &ready.moments;
                let vectors = [vec![total.clone()], message.sums.clone()].concat();
                let numbers = vec![*records, message.variance];
                self.once.message = Some(message);
                let (matrix, shares) = (gram.clone(), Vec::new());
                Ok(PooledSums { numbers, vectors, matrix, shares })
            }
        }
    }

    /// What was released comes back to the records that it is about.
    pub(super) fn take_in(&mut self, taken: TakeIn) -> Result<Done, Refused> {
        let classes = self.classes();
        match taken {
            TakeIn::Classes { epsilon } => {
                let how = self.class_release(epsilon)?;
                let holders = self.holders();
                let (released, _) = self.letters().take::<Classes>(Kind::Release, 0, holders)?;
                impute_classes(self.records()?, classes, &released, how)?;
            }
            TakeIn::Sums(sums) => {
                let ready = self.ready()?;
                let message = self::completed(&ready.capped, &sums, classes)?;
                self.decode(&ready, &message)?;
                self.once.message = Some(message);
            }
            TakeIn::Rule(rule) => {
                self.is_pooled()?;
                let capped = &self.ready()?.capped;
                let (size, modelled) =
                    (capped.features().size(), if classes == 2 { 1 } else { classes });
                let fits = rule.intercepts.len() == modelled
                    && rule.weights.len() == modelled
                    && rule.weights.iter().all(|weights| weights.len() == size);
                if !fits {
                    return Err(Refused::state("a rule that does not fit the features"));
                }
                impute(self.records()?, classes, straight_memberships(capped, &rule))?;
            }
            TakeIn::Cap { length, bits } => self.cap_rounds(length, bits)?,
        }
        Ok(Done)
    }

    /// Columns that were left out, as a part of what a release is called.
    fn left_out(&self) -> Option<Vec<u8>> {
        let columns = self.without.as_ref().filter(|columns| !columns.is_empty())?;
        Some(columns.iter().flat_map(|column| column.to_le_bytes()).collect())
    }

    /// Refuses matrices under masks before the records of every column were counted: what is in a total is
    /// then in it for at least [`PooledSums::FEWEST`] records, if the server keeps its word.
    pub(super) fn counted(&self) -> Result<(), Refused> {
        if self.pads.is_none() || self.without.is_some() {
            return Ok(());
        }
        Err(Refused::state(
            "a matrix under masks, before it was asked how many records have each column",
        ))
    }

    /// Refuses what only silos that pool are asked.
    fn is_pooled(&self) -> Result<(), Refused> {
        if self.pools() { Ok(()) } else { Err(Refused::state("no matrix was agreed on")) }
    }

    /// Whether a matrix was agreed on.
    pub(super) fn pools(&self) -> bool {
        self.once.agreed.is_some()
    }

    fn class_release(&self, epsilon: Option<f64>) -> Result<ClassRelease, Refused> {
        let Some(epsilon) = epsilon else { return Ok(ClassRelease::Revealed) };
        let response = RandomisedResponse::new(Epsilon::try_from(epsilon)?, self.classes());
        let refuse = |error| Refused::new("steffle::node::response", error);
        Ok(ClassRelease::Randomised(response.map_err(refuse)?))
    }
}

/// The reply of a node whose sums stay in its house, or go to silos by letter.
fn nothing() -> Summed<FeatureReply> {
    Summed::nothing()
}

/// A message about a silo, completed; refuses one of another size.
fn completed(
    capped: &Capped<'_>,
    sums: &FeatureSums,
    classes: usize,
) -> Result<ClassSums, Refused> {
    let (size, sent) = (capped.features().size(), if classes == 2 { 1 } else { classes });
    if sums.sums.len() != sent || sums.sums.iter().any(|sum| sum.len() != size) {
        return Err(Refused::state("sums that do not fit the features"));
    }
    Ok(capped.completed(sums, classes))
}

fn impute(
    records: &mut RecordsDivision,
    classes: usize,
    memberships: Vec<f64>,
) -> Result<(), Refused> {
    Ok(Imputed::new(classes, memberships).and_then(|imputed| records.set_imputed(imputed))?)
}

fn impute_classes(
    records: &mut RecordsDivision,
    classes: usize,
    released: &[Classes],
    how: ClassRelease,
) -> Result<(), Refused> {
    let imputed = Imputed::from_classes(records.records().ids(), classes, released, how);
    Ok(imputed.and_then(|imputed| records.set_imputed(imputed))?)
}

/// The features of a silo's records but for some columns; refuses a notion without cells.
fn features(
    division: &RecordsDivision,
    without: &[u32],
) -> Result<Features<'static>, OneShotError> {
    let parts = division.objective().parts();
    if parts == 0 {
        return Err(OneShotError::NoCell);
    }
    let features = Features::released(division.records().rows(), &division.parts(), parts)?;
    fits(&features)?;
    Ok(features.without(without)?)
}

/// Features, capped by their own matrix or the agreed one.
fn cap(
    features: Features<'static>,
    units: Option<&[u32]>,
    agreed: Option<&Agreed>,
) -> Result<Capped<'static>, OneShotError> {
    Ok(match agreed {
        None => Capped::new(features, units)?,
        Some(Agreed { gram, cap }) => Capped::with_gram(features, gram.clone(), units, |_| *cap)?,
    })
}

fn feature_rows(division: &RecordsDivision, agreed: Option<Agreed>) -> FeatureRows {
    let records = division.records();
    FeatureRows {
        ids: records.ids().to_vec(),
        rows: records.rows().clone(),
        cells: division.objective().parts() as u16,
        cell_of: division.parts(),
        agreed,
    }
}

/// What an attributes holder does with the rows of all records silos: it caps them as their silo
/// does and answers each, whether it holds all, one or none of the records.
fn answer_features(
    holder: &mut AttributesDivision,
    rows: &[FeatureRows],
    request: Request,
    noise: &mut NodeNoise,
) -> Result<Released<FeatureMessage>, Refused> {
    let capped = rows
        .iter()
        .map(|silo| {
            let cells = usize::from(silo.cells);
            let features =
                Features::released(&silo.rows, &silo.cell_of, cells).map_err(OneShotError::from)?;
            let units = holder.units_of(&silo.ids)?;
            Ok(cap(features, units.as_deref(), silo.agreed.as_ref())?)
        })
        .collect::<Result<Vec<_>, Refused>>()?;
    let silos: Vec<Asking<'_>> =
        capped.iter().zip(rows).map(|(capped, rows)| (capped, Who::Ids(&rows.ids, 0))).collect();
    Ok(holder.release_features(&silos, request, noise)?)
}
