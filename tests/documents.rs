//! The documents agree with the code: every problem code with its statuses and advice.

#![allow(clippy::panic, reason = "a test may fail")]

use oncegate::core::code::Code;
use oncegate::core::policy::Preset;

const README: &str = include_str!("../README.md");

/// The cells of a row of a table, without the backticks of code.
fn cells(line: &str) -> Vec<String> {
    let inside = line.trim().trim_matches('|');
    inside
        .split('|')
        .map(|cell| cell.trim().replace('`', ""))
        .collect()
}

/// The rows of the table of problem codes.
fn rows() -> Vec<Vec<String>> {
    let Some((_, section)) = README.split_once("## Problem codes") else {
        panic!("the README has a section \"Problem codes\"");
    };
    let table = section.lines().skip_while(|line| !line.starts_with('|'));
    table
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect()
}

#[test]
fn the_readme_lists_every_problem_code_with_its_statuses_and_advice() {
    let expected: Vec<Vec<String>> = Code::ALL
        .into_iter()
        .map(|code| {
            let [default, ietf, stripe] = [Preset::Default, Preset::Ietf, Preset::Stripe]
                .map(|preset| code.status(preset).to_string());
            let (name, retry) = (code.wire().to_owned(), code.retry().wire().to_owned());
            vec![name, default, ietf, stripe, retry]
        })
        .collect();
    let rows = rows();
    let listed: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().take(5).cloned().collect())
        .collect();
    assert_eq!(listed, expected);
    for row in &rows {
        let what = row.get(5).map_or("", String::as_str);
        assert!(what.len() > 5 && row.len() == 6, "{row:?}");
    }
}
