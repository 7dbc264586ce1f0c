//! The client of BMCs (Redfish, DMTF DSP0266): what a BMC has, inserting and ejecting virtual media, booting from it
//! once, power.
