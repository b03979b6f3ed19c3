//! The trade-off curve as SVG: no script, no font, no external file; light and dark.
//!
//! Blue and vermilion of Okabe and Ito differ for every common colour vision, and dashes tell the
//! lines apart without colour.

use super::{TradeOff, small};
use crate::rounding;

const LEFT: f64 = 64.0;
const TOP: f64 = 40.0;
const SIDE: f64 = 300.0;
const POINTS: u32 = 150;

const STYLE: &str = "\
  text { font: 13px sans-serif; fill: #222 }
  .axis { stroke: #222; fill: none }
  .none { stroke: #777; stroke-dasharray: 2 4; fill: none }
  .promise { stroke: #d55e00; stroke-width: 2; stroke-dasharray: 7 3; fill: none }
  .gaussian { stroke: #0072b2; stroke-width: 2.5; fill: none }
  .sheet { fill: #fff }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .axis { stroke: #ddd } .none { stroke: #999 }
    .promise { stroke: #ff9a4d } .gaussian { stroke: #5ab4f0 } .sheet { fill: #16181c }
  }";

pub(super) fn draw(curve: &TradeOff) -> String {
    let points = curve.points(POINTS);
    let title = format!("epsilon {}, delta {}", rounding::up(curve.epsilon, 4), small(curve.delta));
    let promise = path(points.iter().map(|p| (p.false_alarm, p.missed)));
    let gaussian: Option<Vec<_>> =
        points.iter().map(|p| p.missed_gaussian.map(|missed| (p.false_alarm, missed))).collect();
    let (right, bottom) = (LEFT + SIDE, TOP + SIDE);
    let legend = right + 24.0;
    let (width, height) = (legend + 216.0, bottom + 56.0);
    let ticks = [0.0, 0.5, 1.0]
        .map(|at| {
            let percent = 100.0 * at;
            let (x, y) = place(at, at);
            format!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{percent} %</text>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>",
                bottom + 20.0,
                LEFT - 8.0,
                y + 4.0
            )
        })
        .join("\n");
    let key = |class: &str, row: f64, text: &str| {
        let y = TOP + 20.0 + 44.0 * row;
        format!(
            "<path class=\"{class}\" d=\"M{legend:.1} {y:.1}h36\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{text}</text>\n",
            legend + 44.0,
            y + 4.0
        )
    };
    let keys =
        key("none", 0.0, "nothing to learn") + &key("promise", 2.0, "the promise's worst case");
    let gaussian = gaussian.map_or_else(String::new, |points| {
        let curve = path(points.into_iter());
        format!("<path class=\"gaussian\" d=\"{curve}\"/>\n")
            + &key("gaussian", 1.0, "Gaussian messages")
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>Errors an attacker must accept: {title}</title>\n\
         <style>\n{STYLE}\n</style>\n\
         <rect class=\"sheet\" width=\"100%\" height=\"100%\"/>\n\
         <text x=\"{LEFT:.1}\" y=\"22\">Errors an attacker must accept: {title}</text>\n\
         <path class=\"axis\" d=\"M{LEFT:.1} {TOP:.1}V{bottom:.1}H{right:.1}\"/>\n\
         <path class=\"none\" d=\"M{LEFT:.1} {TOP:.1}L{right:.1} {bottom:.1}\"/>\n\
         <path class=\"promise\" d=\"{promise}\"/>\n\
         {ticks}\n{keys}{gaussian}\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">false alarms</text>\n\
         <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">missed cases</text>\n\
         </svg>\n",
        LEFT + 0.5 * SIDE,
        bottom + 42.0,
        TOP + 0.5 * SIDE
    )
}

/// Where a point of the unit square lies on the sheet.
fn place(false_alarm: f64, missed: f64) -> (f64, f64) {
    (LEFT + SIDE * false_alarm, TOP + SIDE * (1.0 - missed))
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let places: Vec<String> = points
        .map(|(false_alarm, missed)| {
            let (x, y) = place(false_alarm, missed);
            format!("{x:.1} {y:.1}")
        })
        .collect();
    format!("M{}", places.join("L"))
}
