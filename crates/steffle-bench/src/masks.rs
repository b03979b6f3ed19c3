//! What masks add to a request: the time of one site, and of the server's sum.

use std::path::PathBuf;
use std::time::Instant;

use steffle_masks::{
    Asked, Greeting, Identity, Journal, Meeting, Memory, Roster, Secret, Terms, hash,
};
use steffle_process::open_journal;

use crate::Outcome;

/// Arguments of `masks`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Numbers of sites.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 12, 100])]
    sites: Vec<u8>,
    /// Numbers of a reply.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 10_000])]
    numbers: Vec<usize>,
    /// Requests of every measurement.
    #[arg(long, default_value_t = 101)]
    requests: u64,
    /// The folder of a journal.
    #[arg(long, default_value = "masks-scratch")]
    folder: PathBuf,
}

/// Prints the table.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Arguments { sites, numbers, requests, folder } = arguments;
    std::fs::create_dir_all(folder)?;
    println!("one site, median of {requests} requests, milliseconds; meeting: once a run");
    println!(
        "{:>6} {:>8} {:>9} {:>9} {:>14} {:>10} {:>10}",
        "sites", "numbers", "mask", "noting", "noting on disk", "whole", "meeting"
    );
    for &sites in sites {
        let begun = Instant::now();
        let meeting = meet(sites)?;
        let met = 1e3 * begun.elapsed().as_secs_f64();
        for &numbers in numbers {
            let path = folder.join(format!("{sites}-{numbers}.journal"));
            let _ = std::fs::remove_file(&path);
            let mut disk = open_journal(&path, None)?;
            let mut memory = Journal::new([], Box::new(Memory::new(b"bench")));
            for journal in [&mut disk, &mut memory] {
                journal.begin([1; 32], [2; 32])?;
            }
            let mut times: [Vec<f64>; 3] = Default::default();
            let mut history = meeting.history();
            let body = vec![1_u8; 8 * numbers];
            for sequence in 0..*requests {
                let begun = Instant::now();
                history.push(&Asked { sequence, kind: 5, round: 0, body: &body });
                let context = history.context();
                let mut pads = meeting.pads(&context).ok_or("no mask")?;
                let mut part = vec![1_i128; numbers];
                let mask = pads.next(numbers);
                part.iter_mut().zip(mask).for_each(|(own, pad)| *own = own.wrapping_add(pad));
                times[0].push(1e3 * begun.elapsed().as_secs_f64());
                let bytes: Vec<u8> = part.iter().flat_map(|own| own.to_le_bytes()).collect();
                for (journal, at) in [(&mut memory, 1), (&mut disk, 2)] {
                    let begun = Instant::now();
                    journal.answer(sequence, context, hash(&[&bytes]))?;
                    times[at].push(1e3 * begun.elapsed().as_secs_f64());
                }
            }
            let [mask, noting, disk] = times.map(median);
            println!(
                "{sites:>6} {numbers:>8} {mask:>9.3} {noting:>9.3} {disk:>14.3} {:>10.3} {met:>10.2}",
                mask + disk
            );
        }
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// The meeting of the first of so many sites.
fn meet(sites: u8) -> Result<Meeting, Box<dyn std::error::Error>> {
    let identity = |site: u8| Identity::new(&[site; 32]);
    let all = (0..sites).map(|site| (identity(site).fingerprint(), String::new()));
    let roster = Roster::new(all)?;
    let terms = Terms { run: [1; 16], role: 3, colluders: 1, noise: 1, shared: Some(1) };
    let secret = |site: u8| Secret { key: hash(&[&[site]]), nonce: [site; 16] };
    let greet =
        |site: u8| Greeting::new(&identity(site), roster.clone(), terms, (&secret(site), 0));
    let greetings = (0..sites).map(greet).collect::<Result<Vec<_>, _>>()?;
    let hellos: Vec<Vec<u8>> = greetings.iter().map(|own| own.hello().to_bytes()).collect();
    let hellos: Vec<&[u8]> = hellos.iter().map(Vec::as_slice).collect();
    let first: &Greeting = greetings.first().ok_or("no site")?;
    Ok(first.meet(&hellos)?)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
