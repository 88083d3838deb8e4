//! Shapes, parameters and histories: what durations are estimated from. Whatever is read can be reckoned with.

use towpath_core::duration::{Parameters, fit, hop_duration};
use towpath_core::finding::{Finding, Place};
use towpath_core::path::Pace;
use towpath_formats::SourceFile;
use towpath_formats::cluster::shape;
use towpath_formats::duration::{read_parameters, update_history, write_parameters};

pub fn fuzz(data: &[u8]) {
    let place = Place::file("x.yaml");
    let [from, to] = ["4.14.3", "4.15.1"].map(|text| text.parse().expect("a version"));
    match shape::read(&place, data) {
        Err(findings) => assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        ),
        Ok(shape) => {
            let estimate = hop_duration(&from, &to, &shape, &Parameters::usual());
            assert!(
                estimate.total >= estimate.control_plane,
                "workers never make it shorter"
            );
        }
    }
    match read_parameters(&place, data) {
        Err(findings) => assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        ),
        Ok(parameters) => {
            let again = read_parameters(&place, write_parameters(&parameters).as_bytes());
            assert_eq!(
                again.as_ref(),
                Ok(&parameters),
                "what is written can be read"
            );
            hop_duration(&from, &to, &Pace::usual().shape, &parameters);
        }
    }
    let histories = update_history::read(
        &[SourceFile {
            path: "h.yaml".to_owned(),
            bytes: data.into(),
        }],
        &[],
    );
    fit(&histories.updates, &Parameters::usual());
}
