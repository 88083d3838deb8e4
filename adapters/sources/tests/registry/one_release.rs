//! One release image by its digest, as the agent asks for it.

use towpath_formats::sources::oci::{ImageName, Reference};
use towpath_sources::{Cache, release_image};

use crate::{patient, plain};
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::images::{INDEX, image, list, part_of_multi, release};

const PATH: &str = "ocp/release";

#[tokio::test]
async fn an_image_says_what_it_is_and_is_read_once() {
    let server = DockerRegistry::start(Door::Plain);
    let (single, amd, arm) = (
        release("4.9.7+amd64", "4.9.6"),
        part_of_multi("4.9.7", "amd64", "4.9.6"),
        part_of_multi("4.9.7", "arm64", "4.9.6"),
    );
    let (other, nothing) = (release("4.9.7+s390x", "4.9.6"), image("amd64", &[]));
    let (multi, each) = (list(INDEX, &[&amd, &arm]), list(INDEX, &[&single, &other]));
    for one in [&single, &other, &amd, &arm, &multi, &each, &nothing] {
        server.push(PATH, None, one).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let (registry, cache) = (plain(patient()), Cache::at(folder.path()));
    let name = |digest| ImageName {
        repository: server.repository(PATH),
        reference: Reference::Digest(digest),
    };
    for (one, arch) in [(&single, "amd64"), (&multi, "multi")] {
        let read = release_image(&registry, Some(&cache), &name(one.digest()))
            .await
            .unwrap();
        assert_eq!(
            (read.version.to_string().as_str(), read.arch.as_str()),
            ("4.9.7", arch)
        );
        assert_eq!(
            read.previous
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["4.9.6"]
        );
        assert_eq!(read.digest, one.digest());
    }
    let asked = registry.requests();
    release_image(&registry, Some(&cache), &name(single.digest()))
        .await
        .unwrap();
    assert_eq!(
        registry.requests(),
        asked,
        "what is known by digest is not asked again"
    );

    for (one, problem) in [
        (&each, "a list of releases"),
        (&nothing, "no release-manifests"),
    ] {
        let finding = release_image(&registry, None, &name(one.digest()))
            .await
            .unwrap_err();
        assert!(finding.problem.contains(problem), "{finding}");
    }
    let missing = release_image(&registry, None, &name(release("4.9.8+amd64", "").digest()))
        .await
        .unwrap_err();
    assert!(missing.problem.contains("not in the registry"), "{missing}");
    let tag = ImageName {
        repository: server.repository(PATH),
        reference: Reference::Tag("4.9.7".to_owned()),
    };
    assert!(
        release_image(&registry, None, &tag)
            .await
            .unwrap_err()
            .problem
            .contains("no digest")
    );
}
