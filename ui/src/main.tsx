// The page's beginning: what is followed, and what is drawn.

import { render } from "preact";
import { followAddress } from "./address";
import { followService } from "./api/live";
import { App } from "./app";
import { followKeys } from "./keys";
import { followSession } from "./session";
import { followTheme } from "./theme";
import "./styles/index.css";

followTheme();
followAddress();
followKeys();
followService();
followSession();
render(<App />, document.getElementById("page")!);
