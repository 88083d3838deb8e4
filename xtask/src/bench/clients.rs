//! Simulated clients: scripts for wrk, and samples for our own requests.
//!
//! nginx gets the same script and query, which it ignores. So generating clients costs the same on both sides of a ratio.

use super::http::Encoding;

/// The platforms that clients are on.
pub(super) const PLATFORMS: [&str; 6] =
    ["AWS", "Azure", "GCP", "OpenStack", "VSphere", "BareMetal"];
/// A platform that no block of the bench names.
pub(super) const ANOTHER_PLATFORM: &str = "None";

/// A script in which every request has a new random id and one of six platforms. `target` is cut off before both.
pub(super) fn random_clients(target: &str, encoding: Encoding) -> String {
    let platforms = PLATFORMS
        .map(|platform| format!("\"{platform}\""))
        .join(", ");
    let body = format!(
        r#"local platforms = {{{platforms}}}

function request()
  local id = format("%08x-%04x-4%03x-%04x-%012x", random(0, 4294967295), random(0, 65535), random(0, 4095),
    random(32768, 49151), random(0, 281474976710655))
  return head .. id .. "&platform=" .. platforms[random({})] .. tail
end
"#,
        PLATFORMS.len()
    );
    format!("{}{body}", prelude(target, encoding))
}

/// A script in which every request is of a random one among the clusters that [`known_id`] numbers.
pub(super) fn known_clients(target: &str, encoding: Encoding, clusters: usize) -> String {
    let body = format!(
        r#"
function request()
  local n = random(0, {clusters} - 1)
  return head .. format("%08x-0000-4000-8000-%012x", n * {SCATTER} % 4294967296, n) .. tail
end
"#
    );
    format!("{}{body}", prelude(target, encoding))
}

/// Spreads neighbouring numbers over all of 32 bits (Knuth's multiplicative hash).
const SCATTER: u64 = 2_654_435_761;

/// The id of the cluster with that number.
pub(super) fn known_id(number: usize) -> String {
    let number = number as u64;
    format!(
        "{:08x}-0000-4000-8000-{number:012x}",
        number * SCATTER % (1 << 32)
    )
}

/// What both scripts begin with. Each thread has its own seed, so no two ask for the same clients.
fn prelude(target: &str, encoding: Encoding) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    let headers = encoding.header().replace("\r\n", "\\r\\n");
    format!(
        r#"local random, format = math.random, string.format
local head = "GET {target}{mark}id="
local tail = " HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n"
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads + os.time() * 1000)
end

function init()
  math.randomseed(seed)
end
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_asks_for_its_encoding() {
        let gzip = random_clients("/graph?channel=x", Encoding::Gzip);
        assert!(gzip.contains(r#"head = "GET /graph?channel=x&id=""#));
        assert!(
            gzip.contains(
                r#"tail = " HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n""#
            )
        );
        let identity = random_clients("/static/x", Encoding::Identity);
        assert!(identity.contains(r#"head = "GET /static/x?id=""#));
        assert!(identity.contains(r#"tail = " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n""#));
        assert!(identity.contains("platforms[random(6)]"));
    }

    #[test]
    fn ids_look_like_those_of_clusters() {
        assert_eq!(known_id(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(known_id(99_999).len(), 36);
        assert_ne!(known_id(1)[..8], known_id(2)[..8]);
    }
}
