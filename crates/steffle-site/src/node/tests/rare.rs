//! Columns that hardly any record of all sites has: masks hide what one site adds, not what is one record's in
//! the total, so matrices of products are without them.

use steffle_model::linear::Symmetric;
use steffle_privacy::NoiseShares;
use steffle_server::federation::{Gathered, Roster};
use steffle_wire::{Added, MaskTerms, Pool, PooledSums, RowCap, Share, Terms};

use super::*;

/// One number and a column of 23 levels.
const LEVELS: Layout = Layout { numeric: 1, categorical: 1, features: 24 };

/// The level that two records of all have; every other one that occurs, at least five of all and two or fewer
/// of each site.
const RARE: u32 = 22;

fn site(place: u64) -> Node {
    let ids = 30 * place..30 * (place + 1);
    let code = |id: u64| if id == 7 || id == 38 { RARE } else { 1 + (id % 15) as u32 };
    let numbers = ids.clone().map(|id| (id % 7) as f32 - 3.5).collect();
    let rows = Rows::new(LEVELS, 30, numbers, ids.clone().map(code).collect()).unwrap();
    let labels = ids.clone().map(|id| u16::from(id % 7 > 3)).collect();
    let records = Records::new(ids.clone().collect(), rows, labels, None, 2).unwrap();
    Node::new(Encoded::new(Some(records), Some(attributes(ids))))
}

/// Hears requests and the totals of matrices; a hostile one asks for matrices at once.
struct Heard {
    inner: InProcess,
    asked: Vec<Pool>,
    matrices: Vec<Symmetric>,
    hostile: bool,
}

impl Transport for Heard {
    fn nodes(&self) -> usize {
        self.inner.here().len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let (envelope, reader) = parse(requests[0].1).unwrap();
        if envelope.kind != Kind::Pool {
            return self.inner.exchange(requests);
        }
        let mut asked: Pool = decode(reader).unwrap();
        if self.hostile && matches!(asked, Pool::Entries { .. }) {
            asked = Pool::Gram { secure_aggregation: true, without: Vec::new() };
            let bytes = seal(&envelope, &asked);
            let all: Vec<_> = requests.iter().map(|(node, _)| (*node, &bytes[..])).collect();
            return self.inner.exchange(&all);
        }
        self.asked.push(asked);
        let replies = self.inner.exchange(requests);
        let part = |reply: &Result<Vec<u8>, Lost>| {
            let bytes = reply.as_ref().unwrap();
            decode::<Summed<PooledSums>>(parse(bytes).unwrap().1).unwrap()
        };
        let mut sum = part(&replies[0]);
        replies[1..].iter().for_each(|reply| sum.add(&part(reply)).unwrap());
        self.matrices.push(sum.total().unwrap().matrix);
        replies
    }
}

fn gathered(hostile: bool) -> Federation<Heard> {
    let inner = InProcess::new((0..3).map(site).collect()).masked();
    let nodes = Heard { inner, asked: Vec::new(), matrices: Vec::new(), hostile };
    let masked = Some(MaskTerms { shared: Some(1), ..MaskTerms::against(1) });
    let agreement = Agreement { layout: LEVELS, ..agreement() };
    let roster = Roster { masked, ..Roster::default() };
    Gathered::new(nodes, agreement.run, roster).unwrap().join(agreement).unwrap()
}

fn terms() -> OneShotTerms {
    OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap()
}

/// The matrix is 0 in the rows and columns that were left out, and in no other that anybody has.
fn is_without(matrix: &Symmetric, column: usize, present: usize) {
    assert!((0..matrix.size()).all(|at| matrix.row(column.max(at))[column.min(at)] == 0.0));
    assert!(matrix.row(present)[present] > 0.0);
}

#[test]
fn matrices_are_without_columns_that_hardly_any_record_has() {
    for shares in [None, NoiseShares::new(3, 1).ok()] {
        let mut federation = gathered(false);
        let pooled = Pooling::Pooled { secure_aggregation: true, shares };
        let release = federation.release_once(pooled, Some(&terms())).unwrap();
        federation.estimate_gap_after(&release, &[0.0; 25], &[0.1; 25]).unwrap();
        let Heard { asked, matrices, .. } = federation.into_transport();
        assert_eq!(asked[0], Pool::Entries { released: true });
        // Behind the number stands its square.
        let rare = RARE + 1;
        assert_eq!(asked[1], Pool::Gram { secure_aggregation: true, without: vec![rare] });
        is_without(&matrices[1], rare as usize, 3);
        let moments = asked.iter().position(|asked| matches!(asked, Pool::Moments { .. }));
        is_without(&matrices[moments.unwrap()], rare as usize, 3);
    }
    let mut federation = gathered(false);
    let (shares, share) = (NoiseShares::new(3, 1).unwrap(), Share { round: 0.002, table: 0.15 });
    let offer = federation.offer(Claim::Shared(shares), 1.0, 1e-6, 4).unwrap();
    let exact = Terms::Exact(share);
    federation.open(offer, |offer| Opening { terms: exact, ..Opening::plain(offer) }).unwrap();
    let half = RowCap::quantile(0.5).unwrap();
    let start = [0.0; 25];
    federation.share_rounds(shares, (share.round, share.table), (&start, half, true)).unwrap();
    let cell = steffle_wire::CellQuestion {
        combinations: vec![0.5, 0.25, -0.5, 1.0],
        quadratic: vec![0.0; 2],
    };
    let (cells, form) = (vec![cell], Form::Centred);
    let question = Question { theta: vec![0.1; 25], cells, form, batch: Batch::All, loss: true };
    federation.round(1, &question).unwrap();
    let Heard { asked, matrices, .. } = federation.into_transport();
    assert_eq!(asked[0], Pool::Entries { released: false });
    assert!(
        matches!(&asked[1], Pool::Curvature { without, .. } if *without == [RARE]),
        "{asked:?}"
    );
    is_without(&matrices[1], RARE as usize, 2);
}

/// Under masks a site makes no matrix before it was asked what columns its records have; what they add up to
/// is the server's word.
#[test]
fn a_matrix_before_its_columns_were_counted_is_refused() {
    let mut federation = gathered(true);
    let pooled = Pooling::Pooled { secure_aggregation: true, shares: None };
    let error = federation.release_once(pooled, Some(&terms())).err().unwrap().to_string();
    assert!(error.contains("how many records have each column"), "{error}");
}
