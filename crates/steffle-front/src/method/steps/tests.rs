use super::*;
use crate::method::method;

fn settled(flags: &[(&str, &str)], sizes: &[usize]) -> (BatchSize, Length) {
    let mut given = Given::default();
    for (key, word) in flags {
        let value = word.parse().map_or_else(|_| (*word).into(), super::super::Value::Whole);
        given.set(key, value);
    }
    method("steffle", &given).unwrap();
    let mode = given.word("mode").unwrap().unwrap_or(Mode::Exact);
    let server = Steps::server(crate::methods::METHODS[0], &given, mode).unwrap();
    let sizes_of_steps = Steps::usual_sizes(&given).unwrap();
    let mut steps = Steps::read(&given, server, sizes_of_steps).unwrap();
    steps.settle(mode, sizes);
    (steps.batch.unwrap(), steps.length.unwrap())
}

#[test]
fn settling_fills_in_what_depends_on_the_data() {
    let paper = settled(&[("mode", "paper"), ("epsilon", "1")], &[400, 600]);
    assert_eq!(paper, (BatchSize::Records(256), Length::Epochs(40)));
    let plain: &[(&str, &str)] = &[("mode", "none"), ("server", "plain")];
    assert_eq!(settled(plain, &[20, 200]), (BatchSize::All, Length::Rounds(1000)));
    assert_eq!(settled(plain, &[100, 600]), (BatchSize::Records(100), Length::Rounds(1000)));
    assert_eq!(settled(plain, &[9000, 25_600]), (BatchSize::Records(256), Length::Rounds(4000)));
    assert_eq!(settled(&[], &[100, 600]), (BatchSize::All, Length::Rounds(25)));
    let blocks = settled(&[("batch", "50")], &[100, 600]);
    assert_eq!(blocks, (BatchSize::Records(50), Length::Epochs(25)));
    let secret = settled(&[("mode", "poisson")], &[100, 600]);
    assert_eq!(secret, (BatchSize::Records(100), Length::Rounds(200)));
}
