// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-G6VWWMA4.css", include_bytes!("assets/page-G6VWWMA4.css")),
    ("assets/page-HDBOEUD7.js", include_bytes!("assets/page-HDBOEUD7.js")),
    ("index.html", include_bytes!("index.html")),
]
