//! A round over all nodes: one trip where divisions share a house, two where they do not.

use super::courier::Courier;
use super::{DriverError, in_order, source};
use crate::division::Silo;
use crate::division::attributes::{AttributesDivision, Request};
use crate::division::records::RecordsDivision;
use crate::protocol::{Batch, CodecError, Handover, Leg, PrivateSums, PublicSums, Question};
use crate::server::Aggregate;

pub(super) fn colocated_round(
    courier: &Courier<'_>,
    sizes: &[usize],
    silos: &mut [Silo],
    question: &Question,
) -> Result<Aggregate, DriverError> {
    let round = courier.round;
    // All silos get the same bytes, so that they are decoded once for all.
    let bytes = courier.question(Leg::Records, question);
    let question: Question = courier.read_question(Leg::Records, &bytes)?;
    let request = courier.request(&[&bytes]);
    let answer = |(at, silo): (usize, &mut Silo)| {
        let mut noise = source(courier.agreement, at, round)?;
        let (public, private) = silo
            .answer(&question, round, request, &mut noise)
            .map_err(|source| DriverError::Silo { silo: at, source })?;
        let public = courier.reply(Leg::Records, at, &public);
        Ok((public, courier.reply(Leg::Attributes, at, &private)))
    };
    let work = match question.batch {
        Batch::All => sizes.iter().sum(),
        Batch::Mini(size) => size as usize * sizes.len(),
        Batch::Block(count) => sizes.iter().sum::<usize>() / (count as usize).max(1),
    };
    let replies = in_order(silos.iter_mut().enumerate().collect(), work, answer)?;
    let mut total = Aggregate::default();
    for (at, (public, private)) in replies.iter().enumerate() {
        let public: PublicSums = courier.read_reply(Leg::Records, at, public)?;
        let private: PrivateSums = courier.read_reply(Leg::Attributes, at, private)?;
        total.add_public(&public);
        total.add_private(&private, public.held as f64, public.batch as f64);
    }
    Ok(total)
}

pub(super) fn split_round(
    [courier, second]: [&Courier<'_>; 2],
    sizes: &[usize],
    records: &mut [RecordsDivision],
    attributes: &mut [AttributesDivision],
    question: &Question,
) -> Result<Aggregate, DriverError> {
    let round = courier.round;
    let largest = sizes.iter().copied().max().unwrap_or(1);
    let answer = |(at, division): (usize, &mut RecordsDivision)| {
        // An attributes reply mixes the records of all silos, so every silo must announce the
        // same share of its records for the sum to be an estimate of the whole.
        let batch = match question.batch {
            Batch::All | Batch::Block(_) => question.batch,
            Batch::Mini(size) => {
                let own = size as usize * division.records().len() / largest;
                Batch::Mini(own.clamp(1, size as usize) as u32)
            }
        };
        let bytes = courier.question(Leg::Records, &Question { batch, ..question.clone() });
        let question: Question = courier.read_question(Leg::Records, &bytes)?;
        let (public, handover) = division
            .answer_and_hand_over(&question, round)
            .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
        let handed = second.handover(at, &handover);
        Ok((courier.reply(Leg::Records, at, &public), handed))
    };
    let all = sizes.iter().sum();
    let replies = in_order(records.iter_mut().enumerate().collect(), all, answer)?;
    let bytes = second.question(Leg::Attributes, question);
    let handovers: Vec<&[u8]> = replies.iter().map(|(_, handover)| &handover[..]).collect();
    let parts: Vec<&[u8]> = [&bytes[..]].into_iter().chain(handovers.iter().copied()).collect();
    let request = second.request(&parts);
    let hold = |(at, division): (usize, &mut AttributesDivision)| {
        let at = sizes.len() + at;
        attributes_leg(second, division, &bytes, &handovers, request, at)
    };
    let sums = in_order(attributes.iter_mut().enumerate().collect(), all, hold)?;

    let mut total = Aggregate::default();
    let mut announced = 0.0;
    for (at, (reply, _)) in replies.iter().enumerate() {
        let public: PublicSums = courier.read_reply(Leg::Records, at, reply)?;
        announced += public.batch as f64;
        total.add_public(&public);
    }
    for (at, reply) in sums.iter().enumerate() {
        let at = sizes.len() + at;
        let private: PrivateSums = second.read_reply(Leg::Attributes, at, reply)?;
        total.add_private(&private, all as f64, announced);
    }
    Ok(total)
}

/// What an attributes holder does in a round: it sums over the announced records it holds.
fn attributes_leg(
    courier: &Courier<'_>,
    division: &mut AttributesDivision,
    question: &[u8],
    handovers: &[&[u8]],
    request: Request,
    at: usize,
) -> Result<Vec<u8>, DriverError> {
    let question: Question = courier.read_question(Leg::Attributes, question)?;
    let handovers = handovers
        .iter()
        .enumerate()
        .map(|(from, bytes)| courier.read_handover(from, bytes))
        .collect::<Result<Vec<Handover>, CodecError>>()?;
    let mut noise = source(courier.agreement, at, courier.round)?;
    let released = division
        .answer(&question, &handovers, request, &mut noise)
        .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
    Ok(courier.reply(Leg::Attributes, at, &released))
}
