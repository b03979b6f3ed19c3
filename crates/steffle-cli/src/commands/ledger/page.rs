//! A book as a page: a table, and a chart of what was spent.

use steffle_ledger::{Look, Spending};
use steffle_privacy::rounding;

use super::date;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 \
                     1rem;color:#222}table{border-collapse:collapse;width:100%}th,td{padding:.3rem \
                     .6rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,\
                     td:first-child{text-align:left}svg{width:100%;height:auto}\
                     .wide{overflow-x:auto}";

/// All books of a folder on one page.
pub(super) fn page(books: &[(String, Look)]) -> String {
    let body: String = books.iter().map(|(name, look)| section(name, look)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Privacy budget</title>\
         <style>{STYLE}</style>\n<h1>Privacy budget</h1>\n{body}</html>\n"
    )
}

fn section(name: &str, look: &Look) -> String {
    let policy = &look.charter.policy;
    let (units, _) = look.book.people();
    let mut html = format!(
        "<h2>{}</h2>\n<p>Promised to each of the {units} people in the store, for all runs together \
         and for good: epsilon {} at delta {:e}. Spent or promised to a run so far: epsilon {}.</p>\n",
        escape(name),
        policy.epsilon,
        policy.delta,
        rounding::up(look.balance().map_or(0.0, |balance| balance.epsilon_taken()), 4),
    );
    html += &chart(look);
    html += "<div class=\"wide\"><table><tr><th>run<th>opened<th>method<th>people<th>asked<th>costs<th>replies<th></tr>\n";
    for run in &look.runs {
        let Spending { units, epsilon, replies, .. } = run;
        html += &format!(
            "<tr><td title=\"{}\">{}<td>{}<td>{}<td>{units}<td>{epsilon}<td>{}<td>{replies}<td>{}</tr>\n",
            escape(&run.run),
            escape(&short(run)),
            date(run.opened),
            escape(&run.method),
            rounding::up(run.costs, 4),
            if run.closed { "" } else { "open" },
        );
    }
    html + "</table></div>\n<p>asked, costs: epsilon at the run's own delta. Epsilons of runs are not to be \
            added: the squares of mu are.</p>\n"
}

/// Bars of what every run keeps of the pot, as shares of it, one on the other.
fn chart(look: &Look) -> String {
    const WIDTH: f64 = 600.0;
    let Some(whole) = look.balance().map(|balance| balance.gaussian.whole).filter(|mu| *mu > 0.0)
    else {
        return String::new();
    };
    let (mut bars, mut at) = (String::new(), 0.0);
    for (run, colour) in look.runs.iter().zip(["#0072b2", "#e69f00"].iter().cycle()) {
        let share = (run.mu.unwrap_or(0.0) / whole).powi(2).min(1.0);
        let name = short(run);
        bars += &format!(
            "<rect x=\"{:.1}\" y=\"4\" width=\"{:.1}\" height=\"24\" fill=\"{colour}\"><title>{}: \
             {:.1} % of the budget</title></rect>",
            at * WIDTH,
            share * WIDTH,
            escape(&name),
            100.0 * share
        );
        at += share;
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} 52\" role=\"img\" aria-label=\"{:.0} % of the budget is spent or \
         promised\"><rect x=\"0\" y=\"4\" width=\"{WIDTH}\" height=\"24\" fill=\"#eee\"/>{bars}<text \
         x=\"0\" y=\"46\" font-size=\"13\">squared mu of every run, as a share of the pot (all runs \
         about the same people: {:.0} %)</text></svg>\n",
        100.0 * at.min(1.0),
        100.0 * at
    )
}

/// The beginning of a run's name: enough to tell runs apart by eye.
fn short(run: &Spending) -> String {
    run.run.chars().take(8).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
