//! Lists of a kind, page by page.

use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value;

use crate::answer::within;
use crate::connect::Settings;
use crate::count::Verb;
use crate::error::KubeError;
use crate::resource::{Call, Resource};
use crate::store::MAX_OBJECTS;

const PAGE: u32 = 500;

/// Which objects of a kind; all if nothing is said.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Which<'a> {
    pub(crate) namespace: Option<&'a str>,
    pub(crate) labels: Option<&'a str>,
    pub(crate) fields: Option<&'a str>,
}

/// All of them.
pub(crate) async fn all(
    client: &kube::Client,
    settings: &Settings,
    resource: &Resource,
    which: Which<'_>,
) -> Result<Vec<Value>, KubeError> {
    let call = Call::new(Verb::List, resource).within(which.namespace);
    let api: Api<DynamicObject> = resource.api(client, which.namespace);
    let mut parameters = ListParams {
        limit: Some(PAGE),
        label_selector: which.labels.map(str::to_owned),
        field_selector: which.fields.map(str::to_owned),
        ..ListParams::default()
    };
    let mut found = Vec::new();
    loop {
        let page = within(settings.request, &call, api.list(&parameters)).await?;
        for object in page.items {
            let object = serde_json::to_value(object)
                .map_err(|error| KubeError::unanswered(&call, &error))?;
            found.push(object);
        }
        if found.len() > MAX_OBJECTS {
            return Err(KubeError::TooLarge {
                call: call.to_string(),
                problem: format!("there are more than {MAX_OBJECTS} objects"),
            });
        }
        parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if parameters.continue_token.is_none() {
            return Ok(found);
        }
    }
}
