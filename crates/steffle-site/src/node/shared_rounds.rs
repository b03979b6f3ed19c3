//! Rounds whose noise all sites share: what they agree on first, and a share of every round.

use steffle_masks::hash;
use steffle_model::decode::RoundScale;
use steffle_model::linear::{Features, Symmetric};
use steffle_privacy::NoiseShares;
use steffle_wire::{
    Answer, Done, Encode as _, Envelope, Join, PooledSums, Question, Refused, RoundReply, Writer,
};

use super::party::{Divisions, Party, nothing};
use crate::division::records::RowCap;
use crate::one_shot::rare_column;

impl Party {
    /// The site's part of the common shape. Like every matrix of products of features it shows a level that
    /// hardly any record has, so without masks such levels are refused.
    pub(super) fn curvature(
        &mut self,
        theta: &[f64],
        without: &[u32],
    ) -> Result<PooledSums, Refused> {
        self.shares_rounds()?;
        self.counted()?;
        let hidden = self.pads.is_some();
        let division = self.records()?;
        if !hidden && let Some(rare) = rare_column(&Features::whole(division.records().rows())) {
            return Err(rare.into());
        }
        let (count, weight, matrix) = division.curvature(theta, without)?;
        Ok(PooledSums { matrix, ..PooledSums::of(vec![count, weight]) })
    }

    /// Takes the common shape; its part of the common cap.
    pub(super) fn shape_rounds(
        &mut self,
        gram: Option<Symmetric>,
        quantile: f64,
    ) -> Result<PooledSums, Refused> {
        self.shares_rounds()?;
        let cap = RowCap::quantile(quantile).ok_or_else(|| {
            Refused::new("steffle::node::cap", format!("a row cap of {quantile}"))
        })?;
        let mut said = Writer::default();
        said.option(gram.as_ref(), |writer, gram| gram.encode(writer));
        self.agreed = Some(hash(&[&said.finish()]));
        let (count, length) = self.records()?.shape_shared(gram, cap)?;
        Ok(PooledSums::of(vec![count, length]))
    }

    /// Takes the common cap.
    pub(super) fn cap_rounds(&mut self, length: f64, bits: u8) -> Result<(), Refused> {
        self.shares_rounds()?;
        let before = self.agreed.ok_or_else(|| Refused::state("a cap without a shape"))?;
        self.records()?.cap_shared(length, bits)?;
        self.agreed = Some(hash(&[&before, &length.to_le_bytes(), &[bits]]));
        Ok(())
    }

    /// A round of which this site releases a share.
    pub(super) fn round_share(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        question: &Question,
        scale: &RoundScale,
    ) -> Result<Answer, Refused> {
        self.shares_rounds()?;
        let (round, sites) = (envelope.round, self.join.silos as usize);
        let agreed = self.agreed.ok_or_else(|| Refused::state("no shape was agreed on"))?;
        let place =
            self.place(envelope).ok_or_else(|| Refused::state("no noise is shared here"))?;
        let request = self.request(round, &[payload, &agreed, &place]);
        let mut source = self.source(round)?;
        let Divisions::Both(silo) = &mut self.divisions else { return Err(nothing()) };
        let (public, released) =
            silo.answer_share(question, round, (scale, request), &mut source)?;
        let shared = Some(released.summed(sites)?);
        let mut reply = RoundReply { public: Some(self.part(&public)?), private: None, shared };
        let answer = self.answer_with(envelope, &mut reply, None::<&Done>);
        self.round = Some(round);
        Ok(answer)
    }

    /// Where a share belongs: its run, its number there, the claim and the mask that covers it, which is
    /// named after the roster. Under any other the same share would be in two sums, whose difference shows
    /// what others changed: it is drawn anew there, and paid for.
    pub(super) fn place(&self, envelope: &Envelope) -> Option<Vec<u8>> {
        let shares = self.shares()?;
        let numbers = [shares.sites().to_le_bytes(), shares.colluders().to_le_bytes()].concat();
        let mask = self.under.unwrap_or_default();
        Some([&self.run.0[..], &envelope.sequence.to_le_bytes(), &numbers, &mask].concat())
    }

    /// Refuses shares of noise that are not those of the sites of this run: every site adds one, and
    /// each has both divisions.
    pub(super) fn can_share(&self, shares: NoiseShares) -> Result<(), Refused> {
        let refuse = |why: String| Err(Refused::new("steffle::node::shares", why));
        let Join { silos, holders, .. } = self.join;
        if holders > 0 || !matches!(self.divisions, Divisions::Both(_)) {
            return refuse(
                "noise is shared by silos that have attributes beside their records; in this run they are \
                 held elsewhere"
                    .to_owned(),
            );
        }
        if shares.sites() != silos {
            let sites = shares.sites();
            return refuse(format!("shares of {sites} sites in a run of {silos} silos"));
        }
        Ok(())
    }

    /// Refuses what only sites that share noise are asked.
    fn shares_rounds(&self) -> Result<(), Refused> {
        match self.shares() {
            Some(_) => Ok(()),
            None => Err(Refused::state("no noise is shared here")),
        }
    }
}
