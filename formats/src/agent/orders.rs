//! Orders, as the service sends them: what the fleet asks of one cluster, sealed for that cluster
//! alone.
//!
//! The orders are a text inside the answer, because the seal covers them as they are written.
//! Unknown fields are ignored, so that a service may be newer than the agent. What an agent does
//! not know it does not do.

use serde::{Deserialize, Serialize};
use towpath_core::agent::{ChannelOrder, FleetOrders, OrderedUpdate, PreflightOrder};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{AcceptedRisk, RiskEnd};
use towpath_core::graph::ChannelName;

use super::seal::{Sealed, check_nonce};
use super::stamp::Nonce;
use crate::graph::data::parse_time;

/// The largest orders, as they are sent.
pub const MAX_BYTES: usize = 256 << 10;
const PURPOSE: &str = "orders";

#[derive(Serialize, Deserialize)]
#[serde(expecting = "sealed orders: an object")]
struct SealedBody {
    orders: String,
    nonce: String,
    code: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(expecting = "orders: an object")]
struct OrdersBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    update: Option<UpdateBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preflight: Option<PreflightBody>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateBody {
    to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<ChannelBody>,
    #[serde(default)]
    accepted_risks: Vec<RiskBody>,
}

#[derive(Serialize, Deserialize)]
struct ChannelBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
}

#[derive(Serialize, Deserialize)]
struct RiskBody {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct PreflightBody {
    id: String,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
}

/// The orders as a text, to be sealed.
pub fn write(orders: &FleetOrders) -> String {
    let risk = |risk: &AcceptedRisk| RiskBody {
        name: risk.name.to_string(),
        reason: risk.reason.as_ref().map(ToString::to_string),
        owner: risk.owner.as_ref().map(ToString::to_string),
        until: risk.ends().map(|end| end.to_string()),
    };
    let body = OrdersBody {
        update: orders.update.as_ref().map(|update| UpdateBody {
            to: update.to.to_string(),
            channel: update.channel.as_ref().map(|channel| ChannelBody {
                from: channel.from.as_ref().map(ToString::to_string),
                to: channel.to.to_string(),
            }),
            accepted_risks: update.accepted.iter().map(risk).collect(),
        }),
        preflight: orders.preflight.as_ref().map(|preflight| PreflightBody {
            id: preflight.id.to_string(),
            version: preflight.version.to_string(),
            image: preflight.image.as_ref().map(ToString::to_string),
        }),
    };
    text(&body)
}

/// The answer to the cluster that asked with this token and this nonce.
pub fn seal(token: &str, cluster: &ClusterId, nonce: &Nonce, orders: &str) -> String {
    text(&SealedBody {
        code: Sealed::new(PURPOSE, cluster, nonce, &[orders]).code(token),
        orders: orders.to_owned(),
        nonce: nonce.as_str().to_owned(),
    })
}

/// The orders that this cluster asked for with this token and this nonce; else what is wrong, in a sentence.
pub fn read(
    bytes: &[u8],
    token: &str,
    cluster: &ClusterId,
    nonce: &Nonce,
) -> Result<FleetOrders, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!(
            "the orders are larger than {MAX_BYTES} bytes; check the address of the service"
        ));
    }
    let wrong = |error: serde_json::Error| {
        format!("the orders are not valid: {error}; check the address of the service")
    };
    let sent: SealedBody = serde_json::from_slice(bytes).map_err(wrong)?;
    check_nonce(PURPOSE, &sent.nonce, nonce)?;
    Sealed::new(PURPOSE, cluster, nonce, &[&sent.orders]).check(token, &sent.code)?;
    let body: OrdersBody = serde_json::from_str(&sent.orders).map_err(wrong)?;
    Ok(FleetOrders {
        update: body.update.map(update).transpose()?,
        preflight: body.preflight.map(preflight).transpose()?,
    })
}

fn update(body: UpdateBody) -> Result<OrderedUpdate, String> {
    let risk = |body: RiskBody| {
        let until = match body.until {
            Some(end) => RiskEnd::At(parse_time(&end)?),
            None => RiskEnd::Open,
        };
        Ok::<_, String>(AcceptedRisk {
            name: body.name.into(),
            reason: body.reason.map(Into::into),
            owner: body.owner.map(Into::into),
            until,
        })
    };
    let accepted: Result<_, String> = body.accepted_risks.into_iter().map(risk).collect();
    Ok(OrderedUpdate {
        to: body.to.parse().map_err(|error| format!("{error}"))?,
        channel: body.channel.map(channel_order).transpose()?,
        accepted: accepted?,
    })
}

fn channel_order(body: ChannelBody) -> Result<ChannelOrder, String> {
    let named = |name: String| {
        let channel = ChannelName::new(&name);
        channel.ok_or_else(|| format!("{name:?} cannot be a channel's name"))
    };
    Ok(ChannelOrder {
        from: body.from.map(named).transpose()?,
        to: named(body.to)?,
    })
}

fn preflight(body: PreflightBody) -> Result<PreflightOrder, String> {
    Ok(PreflightOrder {
        id: body.id.into(),
        version: body.version.parse().map_err(|error| format!("{error}"))?,
        image: body.image.map(Into::into),
    })
}

fn text(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_else(|_| unreachable!("texts can be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";

    fn nonce(text: &str) -> Nonce {
        Nonce::new(text).unwrap()
    }

    fn id(text: &str) -> ClusterId {
        ClusterId::new(text).unwrap()
    }

    fn orders() -> FleetOrders {
        let slow = AcceptedRisk {
            name: "SlowStart".into(),
            reason: Some("we wait".into()),
            owner: Some("ada".into()),
            until: RiskEnd::At("2027-01-31T00:00:00Z".parse().unwrap()),
        };
        FleetOrders {
            update: Some(OrderedUpdate {
                to: "4.20.3".parse().unwrap(),
                channel: Some(ChannelOrder {
                    from: ChannelName::new("stable-4.19"),
                    to: ChannelName::new("stable-4.20").unwrap(),
                }),
                accepted: vec![slow, AcceptedRisk::named("Odd".into())],
            }),
            preflight: Some(PreflightOrder {
                id: "r-1".into(),
                version: "4.21.0".parse().unwrap(),
                image: Some("quay.io/o/release@sha256:00".into()),
            }),
        }
    }

    #[test]
    fn orders_come_back_and_are_for_one_question_of_one_cluster() {
        let (asked, other) = (nonce("AAAAAAAAAAAAAAAA"), nonce("BBBBBBBBBBBBBBBB"));
        let sent = seal(TOKEN, &id("0f3a"), &asked, &write(&orders()));
        let read = |sent: &str, token: &str, cluster: &str, nonce: &Nonce| {
            super::read(sent.as_bytes(), token, &id(cluster), nonce)
        };
        assert_eq!(read(&sent, TOKEN, "0f3a", &asked), Ok(orders()));
        let nothing = FleetOrders::default();
        let empty = seal(TOKEN, &id("0f3a"), &asked, &write(&nothing));
        assert_eq!(read(&empty, TOKEN, "0f3a", &asked), Ok(nothing));
        let changed = |before: &str, after: &str| {
            assert!(sent.contains(before), "{sent}");
            sent.replacen(before, after, 1)
        };
        let not_ours = "not made for this cluster and its token, or was changed";
        for (sent, token, cluster, nonce, expected) in [
            (sent.clone(), "tpc_x", "0f3a", &asked, not_ours),
            (sent.clone(), TOKEN, "0f3b", &asked, not_ours),
            (sent.clone(), TOKEN, "0f3a", &other, "another question"),
            (
                changed("SlowStart", "SlowStarT"),
                TOKEN,
                "0f3a",
                &asked,
                not_ours,
            ),
            (changed("4.21.0", "4.21.1"), TOKEN, "0f3a", &asked, not_ours),
            ("<html>".to_owned(), TOKEN, "0f3a", &asked, "not valid"),
            (" ".repeat(MAX_BYTES + 1), TOKEN, "0f3a", &asked, "larger"),
        ] {
            let error = read(&sent, token, cluster, nonce).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_newer_service_may_say_more() {
        let asked = nonce("AAAAAAAAAAAAAAAA");
        let newer = r#"{"update": {"to": "4.20.3", "more": 1}, "dance": true}"#;
        let sent = seal(TOKEN, &id("0f3a"), &asked, newer);
        let read = read(sent.as_bytes(), TOKEN, &id("0f3a"), &asked).unwrap();
        assert_eq!(read.update.unwrap().accepted, []);
    }
}
