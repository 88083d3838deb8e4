// Style sheets are imported for esbuild alone.
declare module "*.css" {}
