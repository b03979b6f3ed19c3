//! Releases that belong to no round: features and shares of them, classes, counts.

use steffle_model::decode::ShareScale;
use steffle_privacy::ledger::Refusal;

use super::AttributesDivision;
use crate::door::{Released, Request, Unreleased};
use crate::noise::NoiseSource;
use crate::share::{self, ShareMessage, SummedShare};
use crate::{
    Asking, AttributesDivisionError, ClassMessage, ClassRelease, CountMessage, Decided,
    FeatureMessage, Terms, classes, counts, features,
};

impl AttributesDivision {
    /// Answers records silos that ask for the sums of their features by class: pays once for all
    /// of them, draws the noise, then reads the classes of the records it holds.
    pub fn release_features(
        &mut self,
        silos: &[Asking<'_>],
        request: Request,
        source: &mut impl NoiseSource,
    ) -> Result<Released<FeatureMessage>, AttributesDivisionError> {
        if let Some(stored) = self.store.stored(&request)? {
            return Ok(stored);
        }
        self.adds_all_noise()?;
        let (classes, units) = (self.classes(), self.store.units());
        let price = features::price(&self.terms, classes, units, silos, request)?;
        let reserved = price.reserve(&mut self.store, source)?;
        let mut sums = Unreleased(reserved.asked().empty());
        for (silo, &asking) in silos.iter().enumerate() {
            self.store.add(&reserved, features::FeatureChunk { silo, asking }, &mut sums);
        }
        self.store.release(reserved, sums)
    }

    /// Answers the records silo beside it with a share of the sums of its features by class, to be
    /// added up over the sites that share noise. `request` is to name the run and the message: the
    /// same share in another sum would tell what changed in it.
    pub fn release_share(
        &mut self,
        asking: Asking<'_>,
        scale: ShareScale,
        request: Request,
        source: &mut impl NoiseSource,
    ) -> Result<Released<ShareMessage>, AttributesDivisionError> {
        if let Some(stored) = self.store.stored(&request)? {
            return Ok(stored);
        }
        let (Some(shares), Terms::Exact(_)) = (self.shares, &self.terms) else {
            return Err(Refusal::Kind.into());
        };
        let (classes, units) = (self.classes(), self.store.units());
        let price = share::price(shares, scale, classes, units, asking, request)?;
        let reserved = price.reserve(&mut self.store, source)?;
        let mut sums = Unreleased::<ShareMessage>(SummedShare::default());
        self.store.add(&reserved, asking, &mut sums);
        self.store.release(reserved, sums)
    }

    /// Refuses a message with all of its own noise where the grant is for shares: its price would be
    /// another one.
    pub(super) fn adds_all_noise(&self) -> Result<(), Refusal> {
        if self.shares.is_some() { Err(Refusal::Kind) } else { Ok(()) }
    }

    /// The class of every record it holds, as it is or randomised. Records of one unit get one
    /// answer.
    pub fn release_classes(
        &mut self,
        release: ClassRelease,
        request: Request,
        source: &mut impl NoiseSource,
    ) -> Result<Released<ClassMessage>, AttributesDivisionError> {
        if let Some(stored) = self.store.stored(&request)? {
            return Ok(stored);
        }
        let (ids, units) = (self.store.ids(), self.store.units());
        let price = classes::price(release, self.classes(), ids, units, request)?;
        let reserved = price.reserve(&mut self.store, source)?;
        let mut answers = Unreleased(Vec::new());
        self.store.add(&reserved, (), &mut answers);
        self.store.release(reserved, answers)
    }

    /// How a model decides about announced records, by cell, class and decision: pays once for all
    /// silos that announce some, draws the noise, then reads the classes of those it holds.
    pub fn count(
        &mut self,
        silos: &[Decided<'_>],
        request: Request,
        source: &mut impl NoiseSource,
    ) -> Result<Released<CountMessage>, AttributesDivisionError> {
        if let Some(stored) = self.store.stored(&request)? {
            return Ok(stored);
        }
        self.adds_all_noise()?;
        let (classes, units) = (self.classes(), self.store.units());
        let price = counts::price(&self.terms, classes, units, silos, request)?;
        let reserved = price.reserve(&mut self.store, source)?;
        let mut sums = Unreleased(reserved.asked().empty());
        silos.iter().for_each(|silo| self.store.add(&reserved, *silo, &mut sums));
        self.store.release(reserved, sums)
    }
}
