// Every screen and state, by name: what is looked at by axe, and what is taken a picture of.

const SHOP_EU = "11111111-0000-4000-8000-000000000003";
const FROM = "channel=stable-4.20&from=4.20.1";

/** Opens a plan of nodes, as a person does who has its file. */
export const openPlan = (page, text, name = "plan.json") => page.locator("input[name=plan]").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });

/** `prepare` is what a person does there before it is looked at. */
export const screens = (site) => [
  { name: "graph", address: `${site.example}/graph?channel=stable-4.20` },
  { name: "graph-why", address: `${site.example}/graph?${FROM}&to=4.20.3&platform=AWS&id=${SHOP_EU}` },
  { name: "graph-unknown-channel", address: `${site.example}/graph?channel=stable-9.99`, picture: false },
  { name: "rollouts", address: `${site.example}/rollouts` },
  { name: "rollouts-watched", address: `${site.watched}/rollouts?to=${site.rollout.to}` },
  { name: "rollouts-halt", address: `${site.watched}/rollouts?to=${site.rollout.to}&change=halt&in=${site.rollout.channel}&release=${site.rollout.to}`, token: site.ada },
  { name: "rollouts-halted", address: `${site.watched}/rollouts?to=${site.halted.to}` },
  { name: "rollouts-rings", address: `${site.ringed}/rollouts?channel=stable-4.20` },
  { name: "rollouts-undo", address: `${site.watched}/rollouts?to=${site.halted.to}&undo=${site.halted.halt}`, token: site.bob, picture: false },
  { name: "sources", address: `${site.example}/sources` },
  { name: "another-time", address: `${site.example}/graph?channel=stable-4.20&at=2036-01-01T00:00:00Z`, picture: false },
  { name: "no-fleet", address: `${site.example}/fleet` },
  { name: "no-log", address: `${site.example}/log`, picture: false },
  { name: "no-token", address: `${site.closed}/fleet` },
  { name: "fleet", address: `${site.fleet}/fleet` },
  { name: "clusters", address: `${site.fleet}/fleet?view=clusters` },
  { name: "clusters-none", address: `${site.fleet}/fleet?view=clusters&search=nobody-has-this-name`, picture: false },
  { name: "matrix", address: `${site.fleet}/fleet?view=matrix&by=cluster` },
  { name: "matrix-sectors", address: `${site.fleet}/fleet?view=matrix`, picture: false },
  { name: "calendar", address: `${site.fleet}/fleet?view=calendar` },
  { name: "forecast", address: `${site.fleet}/fleet?view=forecast` },
  { name: "versions", address: `${site.fleet}/fleet?view=history` },
  { name: "acts", address: `${site.watched}/fleet?view=acts`, token: site.ada },
  { name: "pause", address: `${site.fleet}/fleet?act=pause&org=acme`, token: site.administrator },
  { name: "approve", address: `${site.fleet}/fleet/clusters/${SHOP_EU}?act=approve`, picture: false },
  { name: "cluster", address: `${site.fleet}/fleet/clusters/${SHOP_EU}` },
  { name: "cluster-unknown", address: `${site.fleet}/fleet/clusters/nobody`, picture: false },
  { name: "nodes", address: `${site.example}/nodes`, picture: false },
  {
    name: "nodes-plan",
    address: `${site.example}/nodes`,
    prepare: async (page) => {
      await openPlan(page, site.plan);
      await page.getByRole("heading", { name: "Pods" }).evaluate((heading) => heading.scrollIntoView());
    },
  },
  { name: "nodes-not-a-plan", address: `${site.example}/nodes`, picture: false, prepare: (page) => openPlan(page, "{}") },
  { name: "log", address: `${site.watched}/log`, token: site.ada },
  { name: "decision", address: `${site.fleet}/log/1?cluster=shop-eu` },
  { name: "decision-unknown", address: `${site.fleet}/log/999999`, picture: false },
];

export const sizes = [
  { size: "wide", width: 1440, height: 900 },
  { size: "narrow", width: 390, height: 844 },
];

export const themes = ["light", "dark"];
