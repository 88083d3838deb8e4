//! What a certificate and a revocation list say about themselves: from when until when, and for whom.
//!
//! It reads the few fields that operators are told of and that requests are compared with. It checks no signature and
//! decides nothing: whether a certificate counts is for the TLS library.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The most names that are read from one certificate.
const MAX_NAMES: usize = 100;

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OID: u8 = 0x06;
const BOOLEAN: u8 = 0x01;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// UTF8String, PrintableString and IA5String.
const STRINGS: [u8; 3] = [0x0c, 0x13, 0x16];
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const DNS_NAME: u8 = 0x82;
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

/// The fields of a certificate that we tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFacts {
    pub begins: Timestamp,
    pub ends: Timestamp,
    /// The common name and the DNS names, as they are written.
    pub names: Vec<String>,
}

/// The fields of a revocation list that we tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevocationListFacts {
    pub made: Timestamp,
    /// When the next list is due. From then on this one proves nothing.
    pub ends: Timestamp,
}

impl CertificateFacts {
    /// Reads a certificate in DER; none if it is not one.
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut fields = Der(Der(der).expect(SEQUENCE)?).within(SEQUENCE)?;
        fields.skip_if(VERSION);
        fields.expect(INTEGER)?;
        fields.expect(SEQUENCE)?;
        fields.expect(SEQUENCE)?;
        let mut validity = fields.within(SEQUENCE)?;
        let (begins, ends) = (validity.time()?, validity.time()?);
        let mut names = common_names(fields.within(SEQUENCE)?)?;
        fields.expect(SEQUENCE)?;
        while let Some((tag, content)) = fields.next() {
            if tag == EXTENSIONS {
                names.extend(dns_names(Der(content).within(SEQUENCE)?)?);
            }
        }
        names.truncate(MAX_NAMES);
        Some(Self {
            begins,
            ends,
            names,
        })
    }

    /// Whether it counts at this time.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        (self.begins..=self.ends).contains(&now)
    }
}

impl RevocationListFacts {
    /// Reads a list in DER; none if it is not one, or does not say when the next one is due.
    pub fn read(der: &[u8]) -> Option<Self> {
        let mut fields = Der(Der(der).expect(SEQUENCE)?).within(SEQUENCE)?;
        fields.skip_if(INTEGER);
        fields.expect(SEQUENCE)?;
        fields.expect(SEQUENCE)?;
        let (made, ends) = (fields.time()?, fields.time()?);
        Some(Self { made, ends })
    }
}

/// The common names in a subject.
fn common_names(mut subject: Der<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while let Some((tag, content)) = subject.next() {
        let mut parts = Der(content);
        while let Some(mut part) = parts.within(SEQUENCE).filter(|_| tag == SET) {
            let is_common = part.expect(OID)? == COMMON_NAME;
            let (kind, text) = part.next()?;
            if is_common && STRINGS.contains(&kind) {
                names.push(String::from_utf8(text.to_vec()).ok()?);
            }
        }
    }
    Some(names)
}

/// The DNS names among the extensions.
fn dns_names(mut extensions: Der<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    while let Some(mut extension) = extensions.within(SEQUENCE) {
        let is_names = extension.expect(OID)? == ALTERNATIVE_NAMES;
        extension.skip_if(BOOLEAN);
        let content = extension.expect(OCTET_STRING)?;
        let mut listed = match is_names {
            true => Der(content).within(SEQUENCE)?,
            false => continue,
        };
        while let Some((tag, name)) = listed.next() {
            if tag == DNS_NAME {
                names.push(String::from_utf8(name.to_vec()).ok()?);
            }
        }
    }
    Some(names)
}

/// What is left to read of some DER: tag, length, content, and so on.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            // A length in up to four bytes; the indefinite form is not DER.
            let count = usize::from(first & 0x7f);
            if !(1..=4).contains(&count) || rest.len() < count {
                return None;
            }
            let (digits, after) = rest.split_at(count);
            length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, content))
    }

    /// The next content, if it has this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, content) = self.next()?;
        (found == tag).then_some(content)
    }

    fn within(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Der)
    }

    fn skip_if(&mut self, tag: u8) {
        if self.0.first() == Some(&tag) {
            self.next();
        }
    }

    fn time(&mut self) -> Option<Timestamp> {
        let (tag, text) = self.next()?;
        let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
        let (year, rest) = match tag {
            // RFC 5280: 50 to 99 are of the last century.
            UTC_TIME => {
                let (year, rest) = text.split_at_checked(2)?;
                let year = digits(year)?;
                (year + if year < 50 { 2_000 } else { 1_900 }, rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = text.split_at_checked(4)?;
                (digits(year)?, rest)
            }
            _ => return None,
        };
        if rest.len() != 10 {
            return None;
        }
        let at = |index: usize| rest.get(2 * index..2 * index + 2).and_then(digits);
        let small = |number: i16| i8::try_from(number).ok();
        let [month, day, hour, minute, second] =
            [at(0)?, at(1)?, at(2)?, at(3)?, at(4)?].map(small);
        let civil = DateTime::new(year, month?, day?, hour?, minute?, second?, 0).ok()?;
        // The last day of 9999 means "never", and is later than any time that we can tell.
        let never = || (year == 9_999).then_some(Timestamp::MAX);
        let zoned = civil.to_zoned(TimeZone::UTC).ok();
        zoned.map(|zoned| zoned.timestamp()).or_else(never)
    }
}

fn digits(text: &str) -> Option<i16> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{
        BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
        KeyIdMethod, KeyPair, KeyUsagePurpose, SerialNumber, date_time_ymd,
    };

    use super::*;

    fn params() -> CertificateParams {
        let mut params = CertificateParams::new(vec!["a.example".to_owned(), "b".to_owned()]);
        let params = params.as_mut().unwrap();
        params.not_before = date_time_ymd(2026, 1, 2);
        params.not_after = date_time_ymd(2060, 3, 4);
        params
            .distinguished_name
            .push(DnType::CommonName, "cluster-1");
        params.clone()
    }

    fn certificate() -> Vec<u8> {
        let key = KeyPair::generate().unwrap();
        params().self_signed(&key).unwrap().der().to_vec()
    }

    fn list() -> Vec<u8> {
        let key = KeyPair::generate().unwrap();
        let mut authority = params();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::CrlSign];
        let issuer = Issuer::new(authority, key);
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2026, 1, 2),
            next_update: date_time_ymd(2026, 1, 9),
            crl_number: SerialNumber::from(1_u64),
            issuing_distribution_point: None,
            revoked_certs: Vec::new(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&issuer).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_says_for_whom_and_until_when() {
        let facts = CertificateFacts::read(&certificate()).unwrap();
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(facts.begins, time("2026-01-02T00:00:00Z"));
        assert_eq!(facts.ends, time("2060-03-04T00:00:00Z"));
        assert_eq!(facts.names, ["cluster-1", "a.example", "b"]);
        assert!(facts.holds_at(time("2060-03-04T00:00:00Z")));
        assert!(!facts.holds_at(time("2060-03-04T00:00:01Z")));
        assert!(!facts.holds_at(time("2026-01-01T23:59:59Z")));
    }

    #[test]
    fn a_revocation_list_says_when_the_next_one_is_due() {
        let facts = RevocationListFacts::read(&list()).unwrap();
        assert_eq!(facts.made.to_string(), "2026-01-02T00:00:00Z");
        assert_eq!(facts.ends.to_string(), "2026-01-09T00:00:00Z");
        assert_eq!(RevocationListFacts::read(&certificate()), None);
        assert_eq!(CertificateFacts::read(&list()), None);
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        let time = |tag: u8, text: &str| {
            let length = u8::try_from(text.len()).unwrap();
            let der = [&[tag, length], text.as_bytes()].concat();
            Der(&der).time().map(|time| time.to_string())
        };
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(time(UTC_TIME, "491231235959Z"), is("2049-12-31T23:59:59Z"));
        assert_eq!(time(UTC_TIME, "500101000000Z"), is("1950-01-01T00:00:00Z"));
        assert_eq!(
            time(GENERALIZED_TIME, "20500101000000Z"),
            is("2050-01-01T00:00:00Z")
        );
        let never = time(GENERALIZED_TIME, "99991231235959Z");
        assert_eq!(never, Some(Timestamp::MAX.to_string()));
        for wrong in [
            "20500101000000",
            "2050010100000Z",
            "20501301000000Z",
            "2050+101000000Z",
            "",
        ] {
            assert_eq!(time(GENERALIZED_TIME, wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn damaged_bytes_never_panic(at in 0_usize..2_000, byte: u8, cut in 0_usize..2_000) {
            for mut der in [certificate(), list()] {
                let length = der.len();
                der[at % length] = byte;
                der.truncate(length - cut % length);
                let _ = (CertificateFacts::read(&der), RevocationListFacts::read(&der));
            }
        }

        #[test]
        fn foreign_bytes_never_panic(der: Vec<u8>) {
            let _ = (CertificateFacts::read(&der), RevocationListFacts::read(&der));
        }
    }
}
