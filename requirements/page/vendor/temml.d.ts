export { default } from "temml";
