//! Names next to the curves: each in a free place near one of its points, none on another.

use super::scene::Place;

/// A rectangle: left, top, right, bottom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// What is already drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    pub(crate) markers: Vec<Place>,
    pub(crate) lines: Vec<(Place, Place)>,
    labels: Vec<Area>,
    leaders: Vec<(Place, Place)>,
}

/// A name and the points that it may stand at.
#[derive(Debug, Clone)]
pub(crate) struct Wish {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) anchors: Vec<Place>,
    /// Points of others: next to them the name could be taken for theirs.
    pub(crate) others: Vec<Place>,
}

/// Where a name stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spot {
    pub(crate) area: Area,
    /// From the point to the name, where they are apart.
    pub(crate) leader: Option<(Place, Place)>,
}

const DISTANCES: [f64; 7] = [8.0, 14.0, 26.0, 42.0, 64.0, 92.0, 128.0];
const DIRECTIONS: usize = 16;
/// Farther from the point than this, a line leads to the name.
const NEAR: f64 = 15.0;
/// Leaders start outside of the marker.
const RIM: f64 = 6.0;
/// As near as this, markers are one to the eye.
const CROWD: f64 = 12.0;

impl Area {
    /// Whether two areas share a point.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether it lies within another.
    pub(crate) fn within(&self, other: &Self) -> bool {
        self.left >= other.left
            && self.right <= other.right
            && self.top >= other.top
            && self.bottom <= other.bottom
    }

    /// Larger by a margin on every side.
    pub(crate) fn grown(&self, margin: f64) -> Self {
        Self {
            left: self.left - margin,
            top: self.top - margin,
            right: self.right + margin,
            bottom: self.bottom + margin,
        }
    }

    /// The part of a line that lies inside.
    pub(crate) fn clip(&self, (from, to): (Place, Place)) -> Option<(Place, Place)> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        // Liang and Barsky: one inequality `slope * share <= room` per side.
        for (slope, room) in [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ] {
            if slope == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if slope < 0.0 {
                enter = enter.max(room / slope);
            } else {
                leave = leave.min(room / slope);
            }
        }
        let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
        (enter <= leave).then(|| (at(enter), at(leave)))
    }

    /// The point of the area that is nearest to a place.
    fn nearest(&self, (x, y): Place) -> Place {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    fn contains(&self, (x, y): Place) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }
}

impl Taken {
    /// Finds the best free spot inside `frame` and takes it; none if every spot is on another name.
    pub(crate) fn place(&mut self, wish: &Wish, frame: &Area) -> Option<Spot> {
        let drawn = &*self;
        let priced = wish.anchors.iter().flat_map(|anchor| {
            let near = |(x, y): &&Place| (x - anchor.0).hypot(y - anchor.1) < CROWD;
            let doubt = 2.0 * wish.others.iter().filter(near).count() as f64;
            let spots = spots(*anchor, wish, frame);
            spots.filter_map(move |spot| Some((doubt + drawn.cost(&spot)?, spot)))
        });
        let (_, best) = priced.min_by(|(left, _), (right, _)| left.total_cmp(right))?;
        self.labels.push(best.area);
        self.leaders.extend(best.leader);
        Some(best)
    }

    /// How bad a spot is; none on or through another name.
    fn cost(&self, spot: &Spot) -> Option<f64> {
        let area = spot.area.grown(1.5);
        let through = |label: &Area| spot.leader.is_some_and(|line| label.clip(line).is_some());
        if self.labels.iter().any(|label| label.meets(&area) || through(label)) {
            return None;
        }
        let markers = self.markers.iter().filter(|at| area.grown(5.0).contains(**at)).count();
        let lines = self.lines.iter().filter(|line| area.clip(**line).is_some()).count();
        let leaders = self.leaders.iter().filter(|line| area.clip(**line).is_some()).count();
        let mut cost = 6.0 * (markers + leaders) as f64 + 4.0 * lines as f64;
        if let Some((from, to)) = spot.leader {
            // A leader may cross lines, but a short way to a free place is better.
            let crossed = self.lines.iter().chain(&self.leaders);
            let crossed = crossed.filter(|line| cross((from, to), **line)).count();
            cost += 0.7 + 0.4 * crossed as f64 + 0.02 * (to.0 - from.0).hypot(to.1 - from.1);
        }
        Some(cost)
    }
}

/// The spots around a point that are inside the frame.
fn spots(anchor: Place, wish: &Wish, frame: &Area) -> impl Iterator<Item = Spot> {
    let (width, height) = (wish.width, wish.height);
    let frame = *frame;
    DISTANCES.into_iter().flat_map(move |distance| {
        (0..DIRECTIONS).filter_map(move |direction| {
            let angle = direction as f64 * std::f64::consts::TAU / DIRECTIONS as f64;
            let (sin, cos) = angle.sin_cos();
            let (x, y) = (anchor.0 + distance * cos, anchor.1 + distance * sin);
            // The name begins where the direction points: to the right of a point on its left.
            let left = x - width * (1.0 - cos) / 2.0;
            let top = y - height * (1.0 - sin) / 2.0;
            let area = Area { left, top, right: left + width, bottom: top + height };
            let leader = (distance > NEAR).then(|| leader(anchor, area.nearest(anchor)));
            area.within(&frame).then_some(Spot { area, leader })
        })
    })
}

/// The line from the rim of a marker to a name.
fn leader(anchor: Place, end: Place) -> (Place, Place) {
    let (dx, dy) = (end.0 - anchor.0, end.1 - anchor.1);
    let share = (RIM / dx.hypot(dy).max(RIM)).min(1.0);
    ((anchor.0 + share * dx, anchor.1 + share * dy), end)
}

/// Whether two lines cross.
fn cross((a, b): (Place, Place), (c, d): (Place, Place)) -> bool {
    let side = |p: Place, q: Place, r: Place| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

#[cfg(test)]
mod tests;
