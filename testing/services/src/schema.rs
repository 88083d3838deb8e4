//! JSON schemas of what commands print and of what the service answers: `docs/schemas`. Values are held against them, and new ones are
//! made from values.
//!
//! Of JSON Schema it knows what these schemas use, and it is stricter: a field that a schema does not have is a mistake. Readers may
//! ignore such fields; tests may not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// Documents by the names of their files, which may refer to each other.
pub struct Schemas(BTreeMap<String, Value>);

/// What one value, or several, showed.
#[derive(Debug, Default)]
pub struct SchemaCheck {
    pub problems: Vec<String>,
    /// The fields that were there, as `document#pointer`.
    pub seen: BTreeSet<String>,
}

impl Schemas {
    /// The folder with the committed ones.
    pub fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
    }

    /// The committed ones.
    pub fn committed() -> Self {
        let files = fs::read_dir(Self::folder()).expect("docs/schemas is there");
        let files = files.map(|file| file.expect("a file").path());
        let schemas = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let read = |path: PathBuf| {
            let name = path.file_name().expect("a name").to_str().expect("UTF-8");
            let text = fs::read(&path).expect("it can be read");
            let read = serde_json::from_slice(&text);
            (
                name.to_owned(),
                read.unwrap_or_else(|error| panic!("{name}: {error}")),
            )
        };
        Self(schemas.map(read).collect())
    }

    /// One alone.
    pub fn one(name: &str, document: Value) -> Self {
        Self(BTreeMap::from([(name.to_owned(), document)]))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Holds a value against a part of a document.
    pub fn check(&self, (document, pointer): (&str, &str), value: &Value) -> SchemaCheck {
        let mut check = SchemaCheck::default();
        match self
            .0
            .get(document)
            .and_then(|whole| whole.pointer(pointer))
        {
            Some(_) => self.fits(&mut check, (document, pointer.to_owned()), value, ""),
            None => check
                .problems
                .push(format!("there is no schema {document}#{pointer}")),
        }
        check
    }

    /// Every field that a document names itself, as `document#pointer`. What it refers to is not part of it.
    pub fn fields(&self, document: &str) -> BTreeSet<String> {
        let mut fields = BTreeSet::new();
        if let Some(whole) = self.0.get(document) {
            list_fields(whole, &format!("{document}#"), &mut fields);
        }
        fields
    }

    /// What a reference stands for.
    fn follow<'a>(&'a self, (document, pointer): (&'a str, String)) -> (&'a str, String) {
        let at = |(document, pointer): &(&str, String)| {
            let schema = self.0[*document].pointer(pointer);
            schema.unwrap_or_else(|| panic!("there is no {document}#{pointer}"))
        };
        match at(&(document, pointer.clone()))["$ref"].as_str() {
            None => (document, pointer),
            Some(reference) => {
                let (file, pointer) = reference.split_once('#').expect("a reference has a #");
                let known = self.0.get_key_value(file);
                let file = known.map_or(document, |(name, _)| name.as_str());
                self.follow((file, pointer.to_owned()))
            }
        }
    }

    fn fits(&self, check: &mut SchemaCheck, place: (&str, String), value: &Value, at: &str) {
        let (document, pointer) = self.follow(place);
        let schema = self.0[document].pointer(&pointer).expect("it was followed");
        if let Some(choices) = schema["oneOf"].as_array() {
            let tried = (0..choices.len()).map(|number| {
                let mut tried = SchemaCheck::default();
                let choice = (document, format!("{pointer}/oneOf/{number}"));
                self.fits(&mut tried, choice, value, at);
                tried
            });
            // Of those that do not fit, the one that comes closest says why.
            let closest = tried.min_by_key(|tried| tried.problems.len());
            let closest = closest.expect("there is a choice");
            check.problems.extend(closest.problems);
            check.seen.extend(closest.seen);
            return;
        }
        let kinds = kinds(schema);
        if kinds.is_empty() {
            return;
        }
        if !kinds.iter().any(|kind| is_kind(kind, value)) {
            let problem = format!("{at}: {value} is not {}", kinds.join(" or "));
            check.problems.push(problem);
            return;
        }
        if let Some(choices) = schema["enum"].as_array()
            && !value.is_null()
            && !choices.contains(value)
        {
            let problem = format!("{at}: {value} is not in {choices:?}");
            check.problems.push(problem);
        }
        if schema["format"] == "date-time"
            && let Some(text) = value.as_str()
            && text.parse::<jiff::Timestamp>().is_err()
        {
            check.problems.push(format!("{at}: {text} is no time"));
        }
        match value {
            Value::Array(items) if schema["items"].is_object() => {
                for (number, item) in items.iter().enumerate() {
                    let place = (document, format!("{pointer}/items"));
                    self.fits(check, place, item, &format!("{at}[{number}]"));
                }
            }
            Value::Object(fields) => {
                self.object_fits(check, (document, &pointer), schema, fields, at);
            }
            _ => {}
        }
    }

    fn object_fits(
        &self,
        check: &mut SchemaCheck,
        (document, pointer): (&str, &str),
        schema: &Value,
        fields: &Map<String, Value>,
        at: &str,
    ) {
        for needed in schema["required"].as_array().into_iter().flatten() {
            let name = needed.as_str().expect("a name");
            if !fields.contains_key(name) {
                check.problems.push(format!("{at}.{name} is missing"));
            }
        }
        // An object of which nothing is said may have anything.
        let is_open = schema["properties"].is_null() && schema["additionalProperties"].is_null();
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Null | Value::Bool(false)) if !is_open => {
                    let problem = format!("{at} is not described: {field}");
                    check.problems.push(problem);
                }
                (Value::Null, Value::Object(_)) => {
                    let place = (document, format!("{pointer}/additionalProperties"));
                    self.fits(check, place, field, &at);
                }
                (Value::Null, _) => {}
                (_, _) => {
                    let place = format!("{pointer}/properties/{}", escaped(name));
                    check.seen.insert(format!("{document}#{place}"));
                    self.fits(check, (document, place), field, &at);
                }
            }
        }
    }
}

/// The file with the schema of a command.
pub fn file_of(command: &str) -> String {
    format!("{}.json", command.replace(' ', "-"))
}

/// Holds what a command printed against its committed schema, in a test that has what the command needs.
pub fn hold(command: &str, printed: &str) {
    let value: Value = serde_json::from_str(printed).expect("it prints JSON");
    let name = file_of(command);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        update(command, &[value]);
        return;
    }
    let problems = Schemas::committed().check((&name, ""), &value).problems;
    assert!(problems.is_empty(), "towpath {command}: {problems:#?}");
}

/// Fields whose keys are data: codes of facts, versions, names of rules, kinds of objects, …
const MAPS: [&str; 7] = [
    "facts", "held", "heldBy", "versions", "labels", "objects", "metadata",
];

/// Marks what was learnt since it was read: only there may a field that was always there turn out not to be.
const NEW: &str = "x-new";
/// Of a field that was never anything but null.
const NULL: &str = "Null in all that tests print.";

/// Adds to a schema what values have and it lacks. It takes nothing away: what was required before stays so.
pub fn learn_all(schema: &mut Value, values: &[Value]) {
    values.iter().for_each(|value| learn(schema, value));
    forget_marks(schema);
}

fn forget_marks(schema: &mut Value) {
    match schema {
        Value::Object(parts) => {
            parts.remove(NEW);
            // It may be something else another day: that nobody has seen it says nothing about its type.
            if parts.get("type").is_some_and(|kind| kind == "null") {
                parts.remove("type");
                parts.insert("description".to_owned(), json!(NULL));
            }
            parts.values_mut().for_each(forget_marks);
        }
        Value::Array(parts) => parts.iter_mut().for_each(forget_marks),
        _ => {}
    }
}

fn learn(schema: &mut Value, value: &Value) {
    if schema.get("$ref").is_some() || schema.get("oneOf").is_some() {
        return;
    }
    if schema.get("type").is_none() {
        schema[NEW] = json!(true);
    }
    let is_new = schema[NEW] == true;
    if schema["description"] == NULL
        && let Some(parts) = schema.as_object_mut()
    {
        parts.remove("description");
    }
    let mut known: BTreeSet<String> = kinds(schema).into_iter().map(str::to_owned).collect();
    if !known.iter().any(|known| is_kind(known, value)) {
        known.insert(kind(value).to_owned());
    }
    if known.contains("number") {
        known.remove("integer");
    }
    schema["type"] = match known.len() {
        1 => json!(known.first()),
        _ => json!(known),
    };
    match value {
        Value::Array(items) => {
            for item in items {
                if schema["items"].is_null() {
                    schema["items"] = json!({});
                }
                learn(&mut schema["items"], item);
            }
        }
        Value::Object(fields) if schema["additionalProperties"].is_object() => {
            let each = &mut schema["additionalProperties"];
            fields.values().for_each(|field| learn(each, field));
        }
        Value::Object(fields) => {
            if schema["properties"].is_null() {
                schema["properties"] = json!({});
                let names: Vec<&String> = fields.keys().collect();
                schema["required"] = json!(names);
            } else if is_new {
                let required = schema["required"].as_array_mut();
                let required = required.expect("what has properties says which are required");
                required.retain(|name| fields.contains_key(name.as_str().unwrap_or_default()));
            }
            for (name, field) in fields {
                let known = &mut schema["properties"][name];
                if known.is_null() && field.is_object() && MAPS.contains(&name.as_str()) {
                    *known = json!({"additionalProperties": {}});
                }
                learn(known, field);
            }
        }
        _ => {}
    }
}

/// Adds to the committed schema of a command what it printed.
pub fn update(command: &str, printed: &[Value]) {
    let path = Schemas::folder().join(file_of(command));
    let committed = fs::read(&path).ok();
    let committed = committed.map(|text| serde_json::from_slice(&text).expect("it is JSON"));
    let mut schema = committed.unwrap_or_else(|| {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": format!("towpath {command} --output json"),
        })
    });
    learn_all(&mut schema, printed);
    fs::create_dir_all(Schemas::folder()).expect("docs/schemas can be made");
    fs::write(&path, format!("{schema:#}\n")).expect("the schema can be written");
}

/// What a description promises: without its words, and without HEAD, which follows from GET.
pub fn promised(description: &Value) -> Value {
    const WORDS: [&str; 6] = [
        "description",
        "summary",
        "example",
        "examples",
        "info",
        "tags",
    ];
    match description {
        Value::Object(parts) => {
            let one = |(name, part): (&String, &Value)| match name.as_str() {
                "head" => None,
                name if WORDS.contains(&name) => None,
                // The names of fields are no words of the description.
                "properties" | "parameters" if part.is_object() => {
                    let fields = part.as_object().into_iter().flatten();
                    let fields = fields.map(|(name, field)| (name.clone(), promised(field)));
                    Some((name.clone(), fields.collect::<Map<_, _>>().into()))
                }
                _ => Some((name.clone(), promised(part))),
            };
            parts.iter().filter_map(one).collect::<Map<_, _>>().into()
        }
        Value::Array(parts) => parts.iter().map(promised).collect(),
        other => other.clone(),
    }
}

/// What a newer description no longer promises: fields, paths and parameters that are gone, other types, what need not be there any more.
pub fn vanished(older: &Value, newer: &Value, at: &str) -> Vec<String> {
    match (older, newer) {
        (Value::Object(older), Value::Object(newer)) => {
            let one = |(name, value): (&String, &Value)| {
                let at = format!("{at}/{name}");
                match (name.as_str(), newer.get(name)) {
                    ("required" | "enum" | "x-roles", Some(after)) => missing(value, after, &at),
                    ("type", Some(after)) if after != value => {
                        vec![format!("{at} is {after}, and was {value}")]
                    }
                    ("$ref", Some(after)) if after != value => {
                        vec![format!("{at} is {after}, and was {value}")]
                    }
                    (_, Some(after)) => vanished(value, after, &at),
                    (_, None) => vec![format!("{at} is gone")],
                }
            };
            older.iter().flat_map(one).collect()
        }
        (Value::Array(older), Value::Array(newer)) => {
            let name = |value: &Value| value["name"].as_str().map(str::to_owned);
            let same = |(number, value): (usize, &Value)| {
                let after = match name(value) {
                    Some(wanted) => newer
                        .iter()
                        .find(|after| name(after).as_ref() == Some(&wanted)),
                    None => newer.get(number),
                };
                let at = format!("{at}/{}", name(value).unwrap_or_else(|| number.to_string()));
                match after {
                    Some(after) => vanished(value, after, &at),
                    None => vec![format!("{at} is gone")],
                }
            };
            older.iter().enumerate().flat_map(same).collect()
        }
        _ => Vec::new(),
    }
}

fn missing(older: &Value, newer: &Value, at: &str) -> Vec<String> {
    let newer = newer.as_array().cloned().unwrap_or_default();
    let older = older.as_array().into_iter().flatten();
    let gone = older.filter(|one| !newer.contains(one));
    gone.map(|one| format!("{at} lacks {one}")).collect()
}

fn list_fields(schema: &Value, at: &str, fields: &mut BTreeSet<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}/properties/{}", escaped(name));
        list_fields(field, &at, fields);
        fields.insert(at);
    }
    for part in ["items", "additionalProperties"] {
        if schema[part].is_object() {
            list_fields(&schema[part], &format!("{at}/{part}"), fields);
        }
    }
    for (number, choice) in schema["oneOf"].as_array().into_iter().flatten().enumerate() {
        list_fields(choice, &format!("{at}/oneOf/{number}"), fields);
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_kind(wanted: &str, value: &Value) -> bool {
    wanted == kind(value) || wanted == "number" && value.is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(schema: &Value, value: &Value) -> Vec<String> {
        let schemas = Schemas::one("a.json", schema.clone());
        schemas.check(("a.json", ""), value).problems
    }

    #[test]
    fn what_is_learnt_from_values_fits_them_and_nothing_else() {
        let (first, second) = (
            json!({"a": 1, "b": [{"c": null}], "d": "x"}),
            json!({"a": 2.5, "b": [], "d": null}),
        );
        let mut schema = json!({});
        learn_all(&mut schema, &[first.clone(), second.clone()]);
        assert_eq!(problems(&schema, &first), [""; 0]);
        assert_eq!(problems(&schema, &second), [""; 0]);
        for (wrong, told) in [
            (json!({"a": 1, "b": []}), ".d is missing"),
            (
                json!({"a": "1", "b": [], "d": "x"}),
                ".a: \"1\" is not number",
            ),
            (
                json!({"a": 1, "b": [], "d": "x", "e": 1}),
                ".e is not described: 1",
            ),
        ] {
            assert_eq!(problems(&schema, &wrong), [told]);
        }
        // What was never anything but null may turn out to be anything.
        let number = json!({"a": 1, "b": [{"c": 1}], "d": "x"});
        assert_eq!(problems(&schema, &number), [""; 0]);
        let schemas = Schemas::one("a.json", schema);
        let all = schemas.fields("a.json");
        assert_eq!(schemas.check(("a.json", ""), &first).seen, all);
        assert!(schemas.check(("a.json", ""), &second).seen.len() < all.len());
    }

    #[test]
    fn what_is_no_longer_promised_is_found() {
        let older = json!({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"],
            "parameters": [{"name": "p"}, {"name": "q"}]});
        assert_eq!(vanished(&older, &older, ""), [""; 0]);
        let words = json!({"info": 1, "get": {"summary": "x", "properties": {"summary": {"type": "string", "description": "x"}}}});
        let without = json!({"get": {"properties": {"summary": {"type": "string"}}}});
        assert_eq!(promised(&words), without);
        let newer = json!({"properties": {"b": {"type": "string"}, "c": {}}, "required": ["b", "c"], "parameters": [{"name": "q"}]});
        assert_eq!(
            vanished(&older, &newer, ""),
            [
                "/parameters/p is gone",
                "/properties/a is gone",
                "/properties/b/type is \"string\", and was \"integer\"",
                "/required lacks \"a\"",
            ]
        );
    }
}
