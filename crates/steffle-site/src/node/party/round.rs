//! A round at a node: the question, both divisions, the reply.

use steffle_wire::{
    Answer, Done, Envelope, Handover, Kind, NoiseScale, PrivateSums, Reader, Refused, Round,
    RoundReply, SumRoom, Terms, decode_in,
};

use super::{Divisions, Party, nothing};

/// Memory of a round that is over.
#[derive(Default)]
pub(in crate::node) struct Rooms {
    /// Of its question.
    asked: Option<Round<'static>>,
    /// Of a reply that was read, and of the sums in it.
    pub(in crate::node) reply: Vec<u8>,
    sums: [SumRoom; 2],
    /// Of what was released and read.
    released: PrivateSums,
}

impl Party {
    /// Answers the question of a round.
    pub(super) fn round(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        reader: Reader<'_>,
    ) -> Result<Answer, Refused> {
        let asked = decode_in(self.rooms.asked.take(), reader)?;
        let answer = self.answer_round(envelope, payload, &asked);
        self.rooms.asked = Some(asked);
        answer
    }

    fn answer_round(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        asked: &Round<'_>,
    ) -> Result<Answer, Refused> {
        let round = envelope.round;
        if self.round.is_some_and(|last| round <= last) {
            return Err(Refused::state(format!("round {round} is over")));
        }
        let Round { question, noise, share } = asked;
        self.set_terms(noise.as_deref())?;
        if let Some(scale) = share {
            return self.round_share(envelope, payload, question, scale);
        }
        if round == 0 {
            self.protect(&question.theta)?;
        }
        let source = &mut self.source(round)?;
        let silos = self.join.silos as usize;
        let answer = match &self.divisions {
            Divisions::Both(_) => {
                let request = self.request(round, &[payload]);
                let Divisions::Both(silo) = &mut self.divisions else { return Err(nothing()) };
                let (public, released) = silo.answer(question, round, request, source)?;
                let scale = public.scale();
                let [first, second] = std::mem::take(&mut self.rooms.sums);
                let private =
                    Some(released.summed(scale, silos, (second, &mut self.rooms.released))?);
                let sums = self.part_in(first, &public)?;
                if let Divisions::Both(silo) = &mut self.divisions {
                    silo.give_back(public, released);
                }
                let mut reply = RoundReply { public: Some(sums), private, shared: None };
                let answer = self.answer_with(envelope, &mut reply, None::<&Done>);
                self.rooms.sums = reply.into_rooms();
                answer
            }
            Divisions::Records(_) => {
                let (public, handover) = self.records()?.answer_and_hand_over(question, round)?;
                let public = Some(self.part(&public)?);
                let mut reply = RoundReply { public, private: None, shared: None };
                self.answer_with(envelope, &mut reply, Some(&handover))
            }
            _ => {
                let from = self.silos();
                let (handovers, said) = self.letters.take::<Handover>(Kind::Round, round, from)?;
                let parts: Vec<&[u8]> =
                    [payload].into_iter().chain(said.iter().map(Vec::as_slice)).collect();
                let request = self.request(round, &parts);
                let released = self.attributes()?.answer(question, &handovers, request, source)?;
                let holders = self.join.holders as usize;
                let room = (SumRoom::default(), &mut self.rooms.released);
                let private = Some(released.summed(1.0, holders, room)?);
                let mut reply = RoundReply { public: None, private, shared: None };
                self.answer_with(envelope, &mut reply, None::<&Done>)
            }
        };
        self.round = Some(round);
        Ok(answer)
    }

    /// The paper's noise, which the server names: a store whose run claims something refuses it.
    fn set_terms(&mut self, noise: Option<&NoiseScale>) -> Result<(), Refused> {
        if matches!(self.divisions, Divisions::Records(_)) {
            return Ok(());
        }
        let store = self.attributes()?;
        match (noise, store.terms()) {
            // The same in every round.
            (Some(noise), Terms::OfMean(own)) if **own == *noise => {}
            (Some(noise), _) => store.change_terms(Terms::OfMean(noise.clone().into()))?,
            (None, Terms::OfMean(_)) => store.change_terms(Terms::Open)?,
            (None, _) => {}
        }
        Ok(())
    }
}
