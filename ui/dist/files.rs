// Every file of the page, written by ui/build.mjs.
&[
    ("assets/icon-130C444C.svg", include_bytes!("assets/icon-130C444C.svg")),
    ("assets/page-6DF74ORG.js", include_bytes!("assets/page-6DF74ORG.js")),
    ("assets/page-TGHLF7HX.css", include_bytes!("assets/page-TGHLF7HX.css")),
    ("index.html", include_bytes!("index.html")),
]
