//! `steffle node`: one party of a run, in a process of its own. `steffle server`: who asks.

use std::io;

use clap::ArgMatches;
use steffle_front::{Own, Party};

use super::ledger::waiting_book;
use super::train::{Carried, train};
use crate::args::{NodeArgs, ServerArgs};
use crate::failure::Failure;
use crate::ui::Output;

pub(crate) fn node(arguments: &NodeArgs) -> Result<(), Failure> {
    let NodeArgs { silo, data, place, together, record, frame_bytes, .. } = arguments;
    let own = match (silo, data, place) {
        (Some(silo), ..) => Own::Silo(silo.clone()),
        (None, Some(job), Some(place)) => Own::Job {
            job: job.clone(),
            place: *place,
            together: *together,
            record: record.clone(),
        },
        _ => return Err(Failure::usage("usage::missing", "--silo FILE, or --data JOB --place N")),
    };
    let party = Party { own, frame_bytes: *frame_bytes };
    let (mut from, mut to) = (io::stdin().lock(), io::stdout().lock());
    Ok(party.serve(waiting_book, &mut from, &mut to, &mut io::stderr())?)
}

pub(crate) fn server(
    arguments: ServerArgs,
    typed: &ArgMatches,
    output: Output,
) -> Result<(), Failure> {
    let ServerArgs { train: command, lead, .. } = arguments;
    train(command, typed, output, Carried::Relay { lead })
}
