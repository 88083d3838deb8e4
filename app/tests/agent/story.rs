//! The story of the agent, `scenarios/agent/story.md`, told on a real Kubernetes API.

use std::path::Path;

use towpath_testing_services::{Shell, tell_story};

use crate::site::Site;

#[tokio::test(flavor = "multi_thread")]
async fn the_story_of_the_agent() {
    let site = Site::new().await;
    site.offer(&[("4.20.1", "4.20.2"), ("4.20.1", "4.20.3")]);
    site.step().await;
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/agent/story.md");
    let mut shell = Shell::at(site.folder.path());
    let kubeconfig = format!("export KUBECONFIG={}", site.kubeconfig().display());
    assert_eq!(shell.run(&kubeconfig), "");
    let told = tokio::task::spawn_blocking(move || tell_story(&story, &mut shell));
    told.await.unwrap().unwrap();
}
